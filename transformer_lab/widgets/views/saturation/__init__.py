"""Softmax saturation: how eight weights and their gradient change as queries and keys get wider."""
