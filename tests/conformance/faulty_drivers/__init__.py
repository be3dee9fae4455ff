"""Driver programs that behave well except in one thing, in plain standard library: `python program.py FAULT`."""
