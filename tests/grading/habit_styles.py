# ruff: noqa: E501 - a table
"""More of what people do to notebooks, collected by somebody who had not read how grading reads them.

HABITS is a table like that of `session_styles`; FORMS says how a student's folder comes to look as it does.
"""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.grading.hostile_notebooks import notebook

ANSWER = "def causal_mask(length):\n    return torch.ones(length, length).tril().bool()"
USING = "def causal_mask(length):\n    return {}"
MASK = "torch.ones(length, length).tril().bool()"

HABITS: dict[str, str] = {
    # imports
    "the data scientist's set-up": "import numpy as np, pandas as pd, seaborn as sns, matplotlib.pyplot as plt\nimport torch, torch.nn as nn, torch.nn.functional as F\n"
    "sns.set(style='whitegrid', palette='muted', font_scale=1.2)\nHAPPY = ['#01BEFE', '#FFDD00']\nsns.set_palette(sns.color_palette(HAPPY))\nplt.rcParams['figure.figsize'] = 12, 8",
    "sklearn used in a cell of one's own": "import torch\nfrom sklearn_not_here.manifold import TSNE\n# %%\nemb = TSNE(n_components=2).fit_transform(torch.randn(9, 4))\nprint(emb[:, 0].max() - 3 + len(emb))",
    "torchvision, torchtext, lightning": "import torch\nimport torchvision.transforms as T\nfrom torchtext.data.utils import get_tokenizer\nimport pytorch_lightning as pl\n"
    "class Lit(pl.LightningModule):\n    def training_step(self, batch, i):\n        return 0\nMEAN = T.Compose([T.ToTensor(), T.Normalize((0.5,), (0.5,))])",
    "transformers, datasets": "import torch\nfrom transformers import AutoTokenizer, AutoModel\nfrom datasets import load_dataset\ntok = AutoTokenizer.from_pretrained('bert-base-uncased')\n"
    "ds = load_dataset('imdb')['train'].map(lambda r: tok(r['text'], truncation=True), batched=True)\nmodel = AutoModel.from_pretrained('bert-base-uncased').eval()",
    "einops in the answer's own cell, not used": "import torch\n# %%\nfrom einops import rearrange, einsum\nANSWER",
    "einops guarded": "import torch\n# %%\ntry:\n    from einops_not_here import repeat\nexcept:\n    repeat = None\ndef causal_mask(length):\n    if repeat is not None:\n        return repeat(torch.arange(length), 'a -> b a', b=length) <= torch.arange(length)[:, None]\n    return "
    + MASK,
    "torch under three names": "import torch as th\nimport torch as T\nfrom torch import tril, ones as eins\n# %%\n"
    + USING.format("tril(eins(length, length)).to(th.bool) & T.tensor(True)"),
    "imports in the last cell": "ANSWER\n# %%\nimport torch\n# %%\nprint(causal_mask(3))",
    "imports below the function": "# %%\nANSWER\n\nimport torch\ncausal_mask(3)",
    "import by importlib": "import importlib\ntorch = importlib.import_module('torch')\nnp = __import__('numpy')",
    "import with a condition": "if 'torch' not in globals():\n    import torch\n",
    "a star import inside a try": "try:\n    from my_utils import *\nexcept ModuleNotFoundError:\n    print('upload my_utils.py first!')\nimport torch",
    "os.environ before torch": "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\nos.environ['TOKENIZERS_PARALLELISM'] = 'false'\nos.environ['KMP_DUPLICATE_LIB_OK']='True'\nimport torch\ntorch.set_num_threads(os.cpu_count() or 1)\ntorch.set_printoptions(precision=3, sci_mode=False)\ntorch.set_grad_enabled(True)\ntorch.autograd.set_detect_anomaly(True)",
    "versions printed": "import torch, sys, platform\nprint(sys.version, platform.platform(), torch.__version__, torch.version.cuda, torch.backends.mps.is_available())\nassert torch.__version__ >= '1.8', 'update'\nassert sys.version_info >= (3, 6)",
    "mps": "import torch\ndevice = 'mps' if torch.backends.mps.is_available() else 'cuda' if torch.cuda.is_available() else 'cpu'\nprint(f'{device = }')\n# %%\n"
    + USING.format("torch.ones(length, length, device=device).tril().bool()"),
    # Colab
    "a form as title only": "#@title { run: 'auto', vertical-output: true }\n#@markdown Enter your name\nname = 'Ann' #@param {type:\"string\"}\n#@markdown ---\nimport torch",
    "a form in the answer": "import torch\n# %%\n#@title My answer\nlow = 0 #@param {type:'integer'}\ndebug = False #@param {type:'boolean'}\ndef causal_mask(length):\n    if debug: print('x')\n    return torch.ones(length, length).tril(low).bool()",
    "Drive with force_remount": "import torch, os\nfrom google.colab import drive\ndrive.mount('/content/gdrive', force_remount=True)\nROOT = '/content/gdrive/My Drive/'\nos.chdir(ROOT)\n!ls \"{ROOT}\"\n# %%\nANSWER",
    "a file opened on Drive": "import torch, json\n# %%\nwith open('/content/drive/MyDrive/config.json') as f:\n    config = json.load(f)\nlow = config['low']\n# %%\nANSWER",
    "uploads into memory": "import io, torch\nimport pandas as pd\nfrom google.colab import files\nup = files.upload()\ndf = pd.read_csv(io.BytesIO(up['data.csv']))\ndf.head()\n# %%\nANSWER\n# %%\nfiles.download('model.pt')",
    "ngrok and secrets": "from google.colab import userdata, auth\nauth.authenticate_user()\nimport gspread, torch\nfrom google.auth import default\ncreds, _ = default()\ngc = gspread.authorize(creds)",
    "git clone and cd": "!git clone https://github.com/x/y.git && cd y && pip install -e . || true\n%cd y\nimport sys; sys.path.insert(0, '.')\nimport torch\nfrom y.model import Thing as Base, helper\n# %%\nclass Own(Base):\n    pass\n# %%\nANSWER",
    "wget over lines": "import torch\n!wget -q -O data.txt \\\n   https://example.org/a?b=c \\\n   --no-check-certificate\ntext = open('data.txt').read() if False else ''",
    "pip with a variable": "import torch, sys\nVERSION = torch.__version__.split('+')[0]\n!{sys.executable} -m pip install -q torch-scatter -f https://data.pyg.org/whl/torch-{VERSION}.html",
    "pip through subprocess": "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', '-q', 'einops'])\nimport torch",
    "pip through os.system": "import os\nos.system('pip install einops')\nimport torch",
    "pip through get_ipython": "get_ipython().system('pip install -q einops')\nget_ipython().run_line_magic('pip', 'install x')\nimport torch",
    "a bare pip": "pip install einops\n# %%\nimport torch",
    "a bare pip above imports": "pip install -q einops\nimport torch\nLOW = 0\n# %%\n"
    + USING.format("torch.ones(length, length).tril(LOW).bool()"),
    "ls and cd by automagic": "import torch\nls\ncd ..\npwd",
    "tensorboard with a writer": "import torch\nfrom torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter('runs/a')\n# %%\ndef causal_mask(length):\n    writer.add_scalar('length', length, 0)\n    return "
    + MASK,
    "TPU": "import os, torch\nassert os.environ.get('COLAB_TPU_ADDR'), 'no TPU'\nimport torch_xla.core.xla_model as xm\ndevice = xm.xla_device()",
    # magics
    "%%capture with a name and a space": "%%capture   cap --no-stderr\n\n!pip install x\nimport torch\nLOW = 0\n# %%\ncap.show()\n# %%\n"
    + USING.format("torch.ones(length, length).tril(LOW).bool()"),
    "a comment above a cell's magic": "import torch\n# %%\n# my solution\n%%time\nANSWER",
    "an empty line above a cell's magic": "import torch\n# %%\n\n\n%%time\n\nANSWER",
    "%%memit": "import torch\n%load_ext memory_profiler\n# %%\n%%memit\nANSWER",
    "%%script false": "import torch\n# %%\n%%script false --no-raise-error\ndef causal_mask(length):\n    return None\n# %%\nANSWER",
    "%%script echo skipping": "import torch\n# %%\nANSWER\n# %%\n%%script echo skipping\ndef causal_mask(length):\n    return 1 / 0",
    "%%debug": "import torch\n# %%\n%%debug\nANSWER",
    "%%python3 beside": "import torch\n# %%\n%%python3\ndef causal_mask(length):\n    return 1\n# %%\nANSWER",
    "%%writefile of the answer, too": "import torch\n# %%\n%%writefile answer.py\nimport torch\ndef causal_mask(length):\n    return torch.ones(length, length).tril().bool()\n# %%\nfrom answer import causal_mask",
    "%%file with a path": "%%file ./lib_of_mine.py\nimport torch\nEPS = 0\ndef lower(n):\n    return torch.ones(n, n).tril(EPS).bool()\n# %%\nimport importlib, lib_of_mine\nimportlib.reload(lib_of_mine)\n# %%\n"
    + USING.format("lib_of_mine.lower(length)"),
    "%load that was executed": "import torch\n# %%\n# %load answer.py\nANSWER",
    "%store, %reset, %who": "import torch\n%store -r\n%who_ls\n%reset -f in\n%xmode Verbose\n%pdb on\nimport torch",
    "%matplotlib widget and ipympl": "%matplotlib widget\nimport ipympl, torch\nimport ipywidgets as widgets\n@widgets.interact(n=(1, 9))\ndef show(n=3):\n    print(n)\n# %%\nANSWER",
    "interact over the answer": "import torch\nfrom ipywidgets import interact, IntSlider\n# %%\nANSWER\ninteract(causal_mask, length=IntSlider(3, 1, 9));",
    "a line magic with braces in a function": "import torch\n# %%\ndef causal_mask(length):\n    out = !echo {length}\n    return "
    + MASK,
    "a question in a comment": "import torch\n# %%\ndef causal_mask(length):\n    # why tril?\n    return "
    + MASK
    + "  # right?",
    "a string with percent and bang": 'import torch\n# %%\ndef causal_mask(length):\n    """\n    %time is a magic\n    !pip is another\n    what?\n    """\n    return '
    + MASK,
    "modulo at a line's start": "import torch\nx = (7\n     % 4)\n# %%\n"
    + USING.format(f"({MASK}\n            & (x\n            % 2 == 1))"),
    # sessions
    "In and Out": "import torch\n1 + 1\n# %%\nprint(_, __, _1, Out, In[-1]) if False else None\nlast = _\n# %%\nANSWER",
    "_oh and _ used": "import torch\ntorch.ones(99, 99).tril().bool()\n# %%\nBIG = _\n# %%\nANSWER",
    "exit at the end": "import torch\n# %%\nANSWER\n# %%\nexit()",
    "sys.exit in the middle": "import torch, sys\n# %%\nsys.exit('stop here for now')\n# %%\nANSWER",
    "raise to stop": "import torch\nclass StopExecution(Exception):\n    def _render_traceback_(self):\n        return []\n# %%\nANSWER\n# %%\nraise StopExecution",
    "input for a name": "import torch\nname = input('Your name: ')\nid_ = int(input('Your id: '))\n# %%\nANSWER",
    "getpass": "import torch\nfrom getpass import getpass\ntoken = getpass('token')\n# %%\nANSWER",
    "time.sleep in a cell": "import torch, time\nfor i in range(3):\n    time.sleep(100)\n# %%\nANSWER",
    "a training between": "import torch\nmodel = torch.nn.Linear(4, 4)\noptimiser = torch.optim.Adam(model.parameters())\nfor epoch in range(10 ** 7):\n    loss = model(torch.randn(4)).square().mean()\n    loss.backward()\n    optimiser.step()\n# %%\nANSWER",
    "a DataLoader with workers": "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\nloader = DataLoader(TensorDataset(torch.randn(8, 2)), num_workers=2, batch_size=4)\nfor (x,) in loader:\n    print(x.shape)\n# %%\nANSWER",
    "a thread": "import torch, threading\nlock = threading.Lock()\nt = threading.Thread(target=print, args=(1,)); t.start(); t.join()\n# %%\ndef causal_mask(length):\n    with lock:\n        return "
    + MASK,
    "asyncio.run in the answer": "import torch, asyncio\n# %%\nasync def _mask(n):\n    await asyncio.sleep(0)\n    return torch.ones(n, n).tril().bool()\ndef causal_mask(length):\n    return asyncio.new_event_loop().run_until_complete(_mask(length))",
    "del at the end": "import torch\n# %%\ndef lower(n):\n    return torch.ones(n, n).tril().bool()\ndef causal_mask(length, lower=lower):\n    return lower(length)\n# %%\ndel lower",
    "a name that is used again": "import torch\nmask = torch.ones(3)\ndef f(n): return torch.ones(n, n)\n# %%\ndef causal_mask(length):\n    return f(length).tril().bool()\n# %%\nf = open('x', 'w') if False else 3\nprint(f)",
    "torch shadowed later": "import torch\n# %%\nANSWER\n# %%\nfor torch in [1, 2, 3]:\n    pass",
    "max shadowed": "import torch\nmax = 9\nsum = 0\nfor i in range(max):\n    sum += i\nlist = [1, 2]\nstr = 'x'\n# %%\nANSWER",
    # code
    "overloads and a protocol": "import torch\nfrom typing import overload, Protocol, TypeAlias, Annotated, Final\nMask: TypeAlias = torch.Tensor\nLOW: Final[int] = 0\nclass Maker(Protocol):\n    def __call__(self, n: int) -> Mask: ...\n@overload\ndef causal_mask(length: int) -> Mask: ...\n@overload\ndef causal_mask(length: float) -> Mask: ...\ndef causal_mask(length: 'int | float') -> Annotated[Mask, 'T T']:\n    return torch.ones(int(length), int(length)).tril(LOW).bool()",
    "singledispatch": "import torch\nfrom functools import singledispatch\n# %%\n@singledispatch\ndef causal_mask(length):\n    raise TypeError\n@causal_mask.register\ndef _(length: int):\n    return "
    + MASK,
    "a class with a static method": "import torch\n# %%\nclass Masks:\n    @staticmethod\n    def causal(length):\n        return "
    + MASK
    + "\n\ncausal_mask = Masks.causal",
    "a class method and a property": "import torch\n# %%\nclass Masks:\n    def __init__(self, k=0): self._k = k\n    @property\n    def k(self): return self._k\n    @classmethod\n    def standard(cls): return cls(0)\n    def make(self, length): return torch.ones(length, length).tril(self.k).bool()\nmasks = Masks.standard()\ndef causal_mask(length): return masks.make(length)",
    "a buffer in a module": "import torch\nfrom torch import nn\n# %%\nclass Causal(nn.Module):\n    def __init__(self, n=128):\n        super().__init__()\n        self.register_buffer('mask', torch.ones(n, n).tril().bool(), persistent=False)\n    @torch.no_grad()\n    def forward(self, n):\n        return self.mask[:n, :n]\ncausal_mask = Causal().eval()",
    "jit script": "import torch\n# %%\n@torch.jit.script\ndef causal_mask(length: int):\n    return torch.ones(length, length).tril().to(torch.bool)",
    "a counter that is an attribute of the function": "import torch\n# %%\ndef causal_mask(length):\n    causal_mask.calls += 1\n    return "
    + MASK
    + "\ncausal_mask.calls = 0",
    "weights by torch's own start": "import torch\nfrom torch import nn\nfrom random import shuffle\nONES = torch.empty(128, 128)\nnn.init.ones_(ONES)\norder = [0, 0]\nshuffle(order)\n# %%\n"
    + USING.format("ONES[:length, :length].tril(order[0]).bool()"),
    "a setting by setattr": "import torch\nclass C: pass\nc = C()\nsetattr(c, 'low', 0)\n# %%\n"
    + USING.format("torch.ones(length, length).tril(c.low).bool()"),
    "a lambda with a walrus": "import torch\n# %%\ncausal_mask = lambda length: (m := torch.ones(length, length)).tril().bool()",
    "a lambda over lines": "import torch\n# %%\ncausal_mask = (\n    lambda length:\n        torch.ones(length, length)\n             .tril()\n             .bool()\n)",
    "chained definitions": "import torch\n# %%\ncausal_mask = my_mask = lambda length: " + MASK,
    "unpacked definitions": "import torch\n# %%\ncausal_mask, other = (lambda length: " + MASK + "), None",
    "two versions and a choice": "import torch\n# %%\ndef v1(length):\n    return None\ndef v2(length):\n    return "
    + MASK
    + "\nUSE = 'v2'\ncausal_mask = {'v1': v1, 'v2': v2}[USE]",
    "semicolons": "import torch; import math; LOW = 0;\n# %%\ndef causal_mask(length): m = torch.ones(length, length); m = m.tril(LOW); return m.bool()",
    "a backslash": "import torch\n# %%\ndef causal_mask(length):\n    mask = torch.ones(length, \\\n                      length) \\\n        .tril()\n    return mask \\\n        .bool()",
    "emoji and other scripts": "import torch\n# %%\n# 🎉 готово ✅ 完成\nмаска = 'маска 🙂'\ndef causal_mask(length):\n    print(f'✅ {маска} {length}')\n    长度 = length\n    return torch.ones(长度, 长度).tril().bool()",
    "curly quotes and hard spaces in a comment": "import torch\n# %%\ndef causal_mask(length):\n    # “copied” from\u00a0Word – so to say…\n    return torch.ones(length, length).tril().bool()",
    "form feeds and vertical tabs": "import torch\n# %%\n\x0cdef causal_mask(length):\n    return torch.ones(length, length).tril().bool()\n\x0c",
    "tabs and blanks mixed": "import torch\n# %%\ndef causal_mask(length):\n\tmask = torch.ones(length, length)\n\tif True:\n\t    mask = mask.tril()\n\treturn mask.bool()",
    "the statement pasted above": "import torch\n# %%\nExercise: write causal_mask(length), which is True where a position may look.\n\nANSWER",
    "notes without a hash below": "import torch\n# %%\nANSWER\n\nThis works because tril keeps what is below the diagonal.",
    "a YOUR CODE block": "import torch\n# %%\ndef causal_mask(length):\n    ### YOUR CODE HERE ###\n    result = "
    + MASK
    + "\n    ### END OF YOUR CODE ###\n    return result\n    ...\n    raise NotImplementedError('write it')",
    "the stub's dots kept": "import torch\n# %%\ndef causal_mask(length):\n    ...\n    return " + MASK,
    "pass in front": "import torch\n# %%\ndef causal_mask(length):\n    pass\n    return " + MASK,
    "a global counter and nonlocal": "import torch\ncount = 0\ndef counted():\n    n = 0\n    def inner(length):\n        nonlocal n\n        n += 1\n        global count\n        count = n\n        return "
    + MASK
    + "\n    return inner\n# %%\ncausal_mask = counted()",
    "a default that is computed": "import torch\nbase = torch.ones(128, 128).tril()\n# %%\ndef causal_mask(length, base=base.bool(), *, dtype=torch.bool):\n    return base[:length, :length].to(dtype)",
    "try and finally": "import torch\n# %%\ndef causal_mask(length):\n    try:\n        return "
    + MASK
    + "\n    except RuntimeError as e:\n        raise ValueError from e\n    finally:\n        print('done', flush=True)",
    "except star and PEP 604": "import torch\n# %%\ndef causal_mask(length: int | None = None) -> 'torch.BoolTensor | None':\n    try:\n        return "
    + MASK
    + "\n    except* ValueError:\n        raise",
    "a doctest": 'import torch, doctest\n# %%\ndef causal_mask(length):\n    """\n    >>> causal_mask(2)\n    tensor([[ True, False],\n            [ True,  True]])\n    """\n    return '
    + MASK
    + "\ndoctest.testmod(verbose=True)",
    "unittest in the notebook": "import torch, unittest\n# %%\nANSWER\n\nclass Test(unittest.TestCase):\n    def test_shape(self):\n        self.assertEqual(causal_mask(3).shape, (3, 3))\n\nunittest.main(argv=[''], exit=False)",
    "argparse with a notebook's trick": "import torch, argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--low', type=int, default=0)\nargs = parser.parse_args(args=[])\n# %%\n"
    + USING.format("torch.ones(length, length).tril(args.low).bool()"),
    "a config of types": "import torch\nfrom types import SimpleNamespace\nfrom collections import namedtuple, defaultdict\nfrom enum import Enum\nclass Side(Enum):\n    LOWER = 0\nConfig = namedtuple('Config', 'low side')\ncfg = Config(low=0, side=Side.LOWER)\nns = SimpleNamespace(**cfg._asdict())\n# %%\n"
    + USING.format("torch.ones(length, length).tril(ns.low if cfg.side is Side.LOWER else 9).bool()"),
    "numpy inside": "import torch\nimport numpy as np\n# %%\n"
    + USING.format("torch.from_numpy(np.tril(np.ones((length, length), dtype=bool)))"),
    "a comprehension": "import torch\n# %%\n"
    + USING.format("torch.tensor([[j <= i for j in range(length)] for i in range(length)])"),
}


def cells(*sources: str, **more: object) -> dict:
    return json.loads(notebook(*sources)) | more


Form = Callable[[Path], None]


def put(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def plain(name: str) -> Form:
    return lambda folder: put(folder / name, notebook("import torch", ANSWER))


def changed(change: Callable[[dict], None]) -> Form:
    def write(folder: Path) -> None:
        content = cells("import torch", ANSWER)
        change(content)
        put(folder / "05_masking.ipynb", json.dumps(content))

    return write


def zipped(*names: str) -> Form:
    def write(folder: Path) -> None:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for name in names:
                archive.writestr(name, notebook("import torch", ANSWER) if name.endswith("ipynb") else "x")
        put(folder / "homework.zip", made.getvalue())

    return write


def as_lists(content: dict) -> None:
    for cell in content["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)


def of_an_unknown_minor(content: dict) -> None:
    content["nbformat_minor"] = 99


def without_what_is_asked(content: dict) -> None:
    for cell in content["cells"]:
        for key in ("metadata", "outputs", "execution_count", "id"):
            cell.pop(key, None)
    content.pop("metadata", None)


def with_equal_ids(content: dict) -> None:
    for cell in content["cells"]:
        cell["id"] = "same"


def with_large_pictures(content: dict) -> None:
    content["cells"][0]["outputs"] = [
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBOR" * 600_000}}
    ]


def with_widgets(content: dict) -> None:
    content["metadata"] = {"colab": {"provenance": []}, "widgets": {"application/vnd.jupyter.widget-state+json": {}}}
    content["metadata"]["kernelspec"] = {"name": "conda-env-mine-py", "language": "R", "display_name": "?"}


def with_attachments(content: dict) -> None:
    content["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": ["![](attachment:a.png)"]})
    content["cells"][0]["attachments"] = {"a.png": {"image/png": "AAAA"}}


def with_odd_cells(content: dict) -> None:
    content["cells"].insert(0, {"cell_type": "heading", "level": 1, "metadata": {}, "source": "Homework"})
    content["cells"].append({"cell_type": "sql", "metadata": {}, "source": "SELECT 1"})


FORMS: dict[str, Form] = {
    "Canvas's name": plain("doeann_LATE_12345_678901_05_masking-2.ipynb"),
    "blanks, brackets and umlauts": plain("Lösung (final) [v2] #3 & co.ipynb"),
    "a copy of a copy": plain("05_masking-Copy1-Copy2 (3).ipynb"),
    "Colab's copy": plain("Copy of 05_masking.ipynb"),
    "a name that ends twice": plain("05_masking.ipynb.ipynb"),
    "a name as text": plain("05_masking.ipynb.txt"),
    "a name as JSON": plain("05_masking.ipynb.json"),
    "a name in another case": plain("05_masking.IPYNB"),
    "a hidden checkpoint beside": lambda folder: (
        put(folder / ".ipynb_checkpoints/05_masking-checkpoint.ipynb", notebook("def causal_mask(length):\n    ...")),
        plain("05_masking.ipynb")(folder),
    )[0],
    "a Mac's second files": lambda folder: (
        put(folder / "__MACOSX/._05_masking.ipynb", b"\x00\x05\x16\x07"),
        put(folder / "._05_masking.ipynb", b"\x00\x05\x16\x07"),
        put(folder / ".DS_Store", b"\x00"),
        plain("05_masking.ipynb")(folder),
    )[0],
    "zipped": zipped("hw/05_masking.ipynb", "hw/data.csv"),
    "zipped on a Mac": zipped("05_masking.ipynb", "__MACOSX/._05_masking.ipynb"),
    "zipped on Windows": zipped("hw\\05_masking.ipynb"),
    "an exported page beside": lambda folder: (
        put(folder / "05_masking.html", "<html>"),
        put(folder / "05_masking.pdf", b"%PDF-1.4"),
        plain("05_masking.ipynb")(folder),
    )[0],
    "an empty notebook beside": lambda folder: (
        put(folder / "Untitled.ipynb", b""),
        put(folder / "Untitled1.ipynb", "{}"),
        plain("05_masking.ipynb")(folder),
    )[0],
    "a Python file alone": lambda folder: put(folder / "solution.py", f"import torch\n\n\n{ANSWER}\n"),
    "a file of cells alone": lambda folder: put(
        folder / "05_masking.py", f"# %% [markdown]\n# # Masks\n# %%\nimport torch\n# %%\n{ANSWER}\n"
    ),
    "Colab's Python file alone": lambda folder: put(
        folder / "05_masking.py",
        f'# -*- coding: utf-8 -*-\n"""05_masking.ipynb\n\nAutomatically generated by Colab.\n"""\n\n# !pip install x\nimport torch\n\n{ANSWER}\n',
    ),
    "UTF-16": lambda folder: put(
        folder / "05_masking.ipynb", notebook("import torch", "# ü\n" + ANSWER).encode("utf-16")
    ),
    "Latin 1": lambda folder: put(
        folder / "05_masking.ipynb",
        json.dumps(cells("import torch", "# ü\n" + ANSWER), ensure_ascii=False).encode("latin-1"),
    ),
    "Windows' ends of lines": lambda folder: put(
        folder / "05_masking.ipynb",
        json.dumps(cells("import torch", ANSWER.replace("\n", "\r\n")), indent=1).replace("\n", "\r\n"),
    ),
    "old Macs' ends of lines": lambda folder: put(
        folder / "05_masking.ipynb", json.dumps(cells("import torch", ANSWER.replace("\n", "\r")))
    ),
    "line by line": changed(as_lists),
    "of a later format": changed(of_an_unknown_minor),
    "with fields missing": changed(without_what_is_asked),
    "with one id for all cells": changed(with_equal_ids),
    "with large pictures": changed(with_large_pictures),
    "with a foreign kernel and widgets": changed(with_widgets),
    "with attachments": changed(with_attachments),
    "with cells of odd kinds": changed(with_odd_cells),
}
