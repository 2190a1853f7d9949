"""The parts of script/bench: servers, load, measurements and the report."""
