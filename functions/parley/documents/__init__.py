"""What recorded exchanges say: found and parsed here once, for probes to follow and for rules to judge."""
