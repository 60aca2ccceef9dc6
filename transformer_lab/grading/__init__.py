"""For instructors: hand out exercises, grade answers safely, see what a class got wrong."""
