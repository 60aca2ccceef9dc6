"""A step to the side as a rotation: one arrow for each frequency; and rotary positions, where two rotations meet."""
