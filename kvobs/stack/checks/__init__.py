"""What may stand in the way of an install, one question after the other. Pure.

A check is data and a small function of the evidence (`verdict.Check`); one module a category, a table each, in the
order of `run.CATEGORIES`. No check fills in anything for another one: the evidence is gathered before.
"""
