"""A shift of positions as a rotation, one arrow per frequency; and rotary positions, where two rotations meet."""
