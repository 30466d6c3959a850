"""The only door to the network: fetching URLs that strangers choose, within limits, to a recorded outcome.

This package imports nothing by itself, so that reading a policy does not cost loading an HTTP client:
``policy`` says where a request may go and how much it may take (Policy, DEPLOYED, LOCAL, Limits), ``client`` makes
requests (Fetcher, Request). Below them, ``budget`` counts, ``resolve`` looks names up, ``answer`` reads HTTP and
``transport`` joins them to requests and urllib3. ``guard`` is a second line for a whole process.
"""
