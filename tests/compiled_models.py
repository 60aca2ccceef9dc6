"""`python -m tests.compiled_models`: language models, compiled without pytest's checks of signatures.

Prints for each kind of positions by how much they differ from the models themselves, and what a compiler is given.
"""

import json

import torch

from transformer_lab import KVCache, LanguageModel, LanguageModelConfig

SIZES = {"vocab_size": 13, "d_model": 12, "n_heads": 3, "d_ff": 20, "n_layers": 2, "max_len": 24, "dropout": 0.0}


def compared(positions: str, dtype: torch.dtype) -> dict[str, object]:
    called: set[str] = set()

    def backend(graph: torch.fx.GraphModule, inputs: list) -> object:
        called.update(getattr(node.target, "__name__", str(node.target)) for node in graph.graph.nodes)
        return graph.forward

    torch._dynamo.reset()  # else all models together count as recompilations of one
    torch.manual_seed(0)
    model = LanguageModel(LanguageModelConfig(**SIZES, positions=positions)).to(dtype).eval()
    tokens, compiled, cache = (
        torch.randint(13, (2, 9)),
        torch.compile(model, backend=backend, fullgraph=True),
        KVCache(),
    )
    parts = torch.cat([compiled(part, cache) for part in tokens.split([5, 1, 1, 2], dim=1)], dim=1)
    expected = model(tokens)
    differences = [(logits - expected).abs().max().item() for logits in (parts, compiled(tokens))]
    return {"differs": max(differences), "called": sorted(called)}


if __name__ == "__main__":
    with torch.no_grad():
        kinds = [(kind, torch.float32) for kind in ("learned", "sinusoidal", "rotary")]
        kinds += [("rotary", torch.float64), ("rotary", torch.bfloat16)]
        print(json.dumps({f"{kind} {dtype}": compared(kind, dtype) for kind, dtype in kinds}))
