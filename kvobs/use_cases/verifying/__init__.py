"""The parts of `kvobs verify`: read the dashboards, settle the variables, ask, gather evidence."""
