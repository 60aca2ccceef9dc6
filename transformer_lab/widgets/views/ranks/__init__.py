"""Four ranks in a training step: who holds which piece of which matrix, and who computes, sends or waits when."""
