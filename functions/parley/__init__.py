"""Parley: can AI agents find, trust and talk to what is at a URL?

One direction, from a text to a report::

    text -> Target.parse -> gather(target, fetch) -> Evidence -> RuleSet.judge -> Checks -> Report
                            probes/   fetch/                     rules/ (pure)       -> render/ -> HTTP, CLI
                                                                                     -> store/ (cache)

``probes`` record what the network said, ``documents`` read what was recorded, ``rules`` judge it and
touch no network, ``render`` turns a report into bytes. ``fetch`` is the only door to the network.
"""

__version__ = "0.1.0"
