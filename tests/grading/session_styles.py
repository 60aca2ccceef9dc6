# ruff: noqa: E501 - a table
"""What people write around an answer in Colab, Kaggle, VS Code and JupyterLab: cells that work there, as a table.

A style is the text of a notebook, whose cells `# %%` parts; `ANSWER` stands for a right answer, which uses torch. Where
it is missing the answer has a cell of its own below. FILES are what lies beside the notebook.
"""

ANSWER = "def causal_mask(length):\n    return torch.ones(length, length).tril().bool()"
USING = "def causal_mask(length):\n    return {}"
MASK = "torch.ones(length, length).tril().bool()"

STYLES: dict[str, str] = {
    # set-up cells of Colab, from which everything takes its imports
    "install where in Colab": "import sys, torch\nif 'google.colab' in sys.modules:\n    !pip install -q transformer-lab",
    "install where it is missing": "import torch\ntry:\n    import einops\nexcept ImportError:\n    %pip install einops",
    "install over two lines": "import torch\n!pip install -q \\\n    einops wandb\nONE = 1\n# %%\n"
    + USING.format(f"{MASK} & bool(ONE)"),
    "install with pins": "%pip install 'torch>=2.0' numpy==1.26 --quiet\nimport torch",
    "install, restart, go on": "!pip install torch -U\nimport os\n# os.kill(os.getpid(), 9)\nimport torch",
    "conda": "%conda install -y pytorch -c pytorch\nimport torch",
    "apt": "!apt-get -qq install graphviz > /dev/null && echo done\nimport torch",
    "the GPU is looked at": "gpu_info = !nvidia-smi\ngpu_info = '\\n'.join(gpu_info)\n"
    "if gpu_info.find('failed') >= 0:\n  print('Not connected to a GPU')\nelse:\n  print(gpu_info)\nimport torch",
    "shell in a loop": "import torch\nfor name in ['a', 'b']:\n    !echo {name}",
    "shell assigned and used": "import torch\nfiles = !ls\nN_FILES = len(files)\n# %%\n"
    + USING.format(f"{MASK} & (N_FILES >= 0)"),
    "magic assigned": "import torch\nhere = %pwd\ntaken = %timeit -o -q 1 + 1",
    "Drive": "from google.colab import drive\ndrive.mount('/content/drive')\n%cd /content/drive/MyDrive/hw\nimport torch",
    "Drive on the path": "import sys\nfrom google.colab import drive\ndrive.mount('/content/drive')\n"
    "sys.path.append('/content/drive/MyDrive')\nimport torch",
    "Colab's patches": "import torch\nfrom google.colab.patches import *\nfrom google.colab.output import eval_js",
    "uploads": "from google.colab import files\nuploaded = files.upload()\nfor fn in uploaded.keys():\n"
    "  print(f'{fn}: {len(uploaded[fn])} bytes')\n# %%\nimport torch",
    "userdata": "from google.colab import userdata\nimport os, torch\nos.environ['HF_TOKEN'] = userdata.get('HF_TOKEN')",
    "a form": '#@title Set-up { display-mode: "form" }\nimport torch\nn_heads = 4 #@param {type:"slider", min:1, max:8}\n'
    "mode = 'fast' #@param ['fast', 'slow']\n# %%\n" + USING.format(f"{MASK} & (n_heads > 0)"),
    "a form with a magic below": "#@title Install\n%%capture\n!pip install wandb\nimport torch",
    "IN_COLAB": "import torch\ntry:\n    import google.colab\n    IN_COLAB = True\nexcept ImportError:\n    IN_COLAB = False\n"
    "if IN_COLAB:\n    !git clone https://example.org/x\n# %%\n" + USING.format(f"{MASK} if not IN_COLAB else None"),
    "Kaggle's first cell": "import numpy as np\nimport pandas as pd\nimport os\n"
    "for dirname, _, filenames in os.walk('/kaggle/input'):\n    for filename in filenames:\n"
    "        print(os.path.join(dirname, filename))\nimport torch",
    "Kaggle's secrets": "from kaggle_secrets import UserSecretsClient\nimport torch\nkey = UserSecretsClient().get_secret('k')",
    # magics
    "all the usual magics": "%load_ext autoreload\n%autoreload 2\n%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\n"
    "import torch",
    "env and cd": "%env CUDA_VISIBLE_DEVICES=0\n%cd ..\nimport torch",
    "tensorboard": "%load_ext tensorboard\n%tensorboard --logdir runs\nimport torch",
    "%%capture over imports": "%%capture out\n!pip install einops\nimport torch",
    "%%capture and %%time": "%%capture\n%%time\nimport torch\nANSWER",
    "%%time over the answer": "import torch\n# %%\n%%time\nANSWER",
    "%%timeit over the answer": "import torch\n# %%\n%%timeit -n 1 -r 1\nANSWER",
    "%%prun over the answer": "import torch\n# %%\n%%prun -q\nANSWER",
    "%%wandb over the answer": "import torch\n# %%\n%%wandb\nANSWER",
    "%time of an assignment": "import torch\n%time BIG = torch.ones(99, 99).tril().bool()\n# %%\n"
    + USING.format("BIG[:length, :length]"),
    "%time in a block": "import torch\nfor i in range(2):\n    %time BIG = torch.ones(99, 99).tril().bool()\n# %%\n"
    + USING.format("BIG[:length, :length]"),
    "other languages": "%%bash\nls; def x(\n# %%\n%%html\n<b>x</b>\n# %%\n%%javascript\nlet x = (\n# %%\nimport torch",
    "help": "import torch\ntorch.tril?\n?torch.ones\ntorch.nn.functional??\ntorch.*ones*?",
    "help after the answer": "import torch\n# %%\nANSWER\ncausal_mask?",
    "a magic after the answer": "import torch\n# %%\nANSWER\n%timeit causal_mask(4)\n!free -h",
    "a magic in a function": "import torch\n# %%\ndef show():\n    !nvidia-smi\n    %matplotlib inline\n\nANSWER",
    "prompts that were pasted": "import torch\n# %%\n>>> SIZE = 3\n>>> def helper(x):\n...     return x\n# %%\n"
    + USING.format("helper(" + MASK + ")"),
    "indented as a whole": "    import torch\n    LOW = 0\n# %%\n    def causal_mask(length):\n        return " + MASK,
    # sessions
    "display of a value": "import torch\n# %%\n"
    + "def causal_mask(length):\n    mask = "
    + MASK
    + "\n    display(mask)\n"
    "    return mask",
    "display imported": "import torch\nfrom IPython.display import display, clear_output, HTML, Math, Image\n# %%\n"
    "def causal_mask(length):\n    display(HTML('<b>x</b>'))\n    clear_output(wait=True)\n    return " + MASK,
    "get_ipython()": "import torch\nip = get_ipython()\nip.run_line_magic('matplotlib', 'inline')\n"
    "SHELL = 'google.colab' in str(get_ipython())\n# %%\n" + USING.format(f"{MASK} if not SHELL else None"),
    "get_ipython imported": "import torch\nfrom IPython import get_ipython\nfrom IPython.core.interactiveshell import InteractiveShell\n"
    "InteractiveShell.ast_node_interactivity = 'all'\nif get_ipython() is not None:\n    READY = True\n# %%\n"
    + USING.format(f"{MASK} & READY"),
    "await": "import torch, asyncio\nasync def load():\n    await asyncio.sleep(0)\n    return 1\nONE = await load()\n# %%\n"
    + USING.format(f"{MASK} & bool(ONE)"),
    "async with": "import torch, asyncio\nasync with asyncio.Lock():\n    ONE = 1\n# %%\n"
    + USING.format(f"{MASK} & bool(ONE)"),
    "nest_asyncio": "import nest_asyncio, torch\nnest_asyncio.apply()",
    "wandb": "import torch\nimport wandb\nwandb.init(project='hw', mode='disabled')\n# %%\n"
    "def causal_mask(length):\n    wandb.log({'length': length})\n    return " + MASK,
    "a decorator that is not there": "import torch\nfrom memory_profiler import profile\nfrom numba import njit\n# %%\n"
    "@profile\n@njit(cache=True)\n" + ANSWER,
    "types that are not there": "import torch\nfrom torchtyping import TensorType\n# %%\n"
    "def causal_mask(length: int) -> TensorType['T', 'T']:\n    return " + MASK,
    "types of the future": "from __future__ import annotations\nimport torch\n# %%\n"
    "def causal_mask(length: int | Number) -> Tensor['T T']:\n    return " + MASK,
    "tqdm": "import torch\nfrom tqdm.auto import tqdm\n# %%\ndef causal_mask(length):\n    rows = [torch.arange(length) <= i for i in "
    "tqdm(range(length))]\n    return torch.stack(rows)",
    "tqdm.notebook": "import torch\nfrom tqdm.notebook import tqdm, trange\n# %%\ndef causal_mask(length):\n"
    "    rows = [torch.arange(length) <= i for i in trange(length)]\n    return torch.stack(rows)",
    "rich": "import torch\nfrom rich_is_not_here import print\nfrom rich_is_not_here.progress import track\n# %%\n"
    "def causal_mask(length):\n    rows = [torch.arange(length) <= i for i in track(range(length))]\n    print(rows[0])\n"
    "    return torch.stack(rows)",
    "a logger": "import logging, torch\nfrom loguru import logger as log\nlogging.basicConfig(level=logging.INFO)\n# %%\n"
    "def causal_mask(length):\n    log.info('length {}', length)\n    logging.info(length)\n    return " + MASK,
    "star of the package": "import torch\nfrom transformer_lab import *\nfrom transformer_lab.nn.masks import *",
    "star of many": "from torch import *\nfrom math import *\nfrom numpy import *\nimport torch",
    "seeds, warnings, styles": "import torch, random, warnings\nimport numpy as np\nimport matplotlib.pyplot as plt\n"
    "warnings.filterwarnings('ignore')\nplt.style.use('seaborn-v0_8')\nSEED = 42\nrandom.seed(SEED); np.random.seed(SEED)\n"
    "torch.manual_seed(SEED)\ntorch.cuda.manual_seed_all(SEED)\ntorch.backends.cudnn.deterministic = True",
    "a theme that is not there": "import torch\nimport seaborn_not_here as sns\nsns.set_theme()\nPALETTE = sns.color_palette()",
    # devices
    "a device, guarded": "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n# %%\n"
    + USING.format("torch.ones(length, length, device=device).tril().bool()"),
    "a device, not guarded": "import torch\ndevice = torch.device('cuda')\n# %%\n"
    + USING.format("torch.ones(length, length).to(device).tril().bool()"),
    ".cuda()": "import torch\n# %%\n" + USING.format("torch.ones(length, length).cuda().tril().bool().cpu()"),
    "device='cuda:0'": "import torch\n# %%\n"
    + USING.format("torch.ones((length, length), device='cuda:0').tril().bool()"),
    "the default device": "import torch\ntorch.set_default_device('cuda')\ntorch.set_default_dtype(torch.float32)",
    "synchronised": "import torch\n# %%\ndef causal_mask(length):\n    mask = "
    + MASK
    + "\n    if torch.cuda.is_available():\n"
    "        torch.cuda.synchronize()\n    return mask",
    # Python
    "if __name__": "import torch\n# %%\nANSWER\n\nif __name__ == '__main__':\n    print(causal_mask(3))",
    "asserts below": "import torch\n# %%\nANSWER\n\nassert causal_mask(2).shape == (2, 2)\nassert causal_mask(1).all(), 'no'",
    "a second definition": "import torch\n# %%\ndef causal_mask(length):\n    return None\n# %%\nANSWER\n# %%\nprint(causal_mask(3))",
    "types": "import torch\nfrom torch import Tensor\nfrom typing import Optional, Callable\n# %%\n"
    "def causal_mask(length: int, dtype: Optional[torch.dtype] = None, *, f: Callable[[int], Tensor] | None = None) -> Tensor:\n"
    "    return " + MASK,
    "jaxtyping": "import torch\nfrom torch import Tensor\nfrom jaxtyping import Bool\n# %%\n"
    "def causal_mask(length: int) -> Bool[Tensor, 'T T']:\n    return " + MASK,
    "decorators": "import torch, functools, time\ndef timer(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n"
    "        start = time.time()\n        out = f(*a, **k)\n        print(time.time() - start)\n        return out\n    return inner\n"
    "# %%\n@timer\n@torch.no_grad()\n" + ANSWER,
    "a cache": "import torch\nfrom functools import lru_cache\nCACHE = {}\nROWS = []\nROWS.append(1)\n# %%\n"
    "def causal_mask(length):\n    if length not in CACHE:\n        CACHE[length] = "
    + MASK
    + "\n    return CACHE[length] & bool(ROWS[0])",
    "a list filled in a loop": "import torch\nROWS = []\nfor i in range(99):\n    ROWS.append([j <= i for j in range(99)])\n# %%\n"
    + USING.format("torch.tensor([row[:length] for row in ROWS[:length]])"),
    "a walrus": "import torch\nprint(n := 99)\n# %%\n"
    + USING.format("torch.ones(n, n).tril().bool()[:length, :length]"),
    "match": "import torch, sys\nmatch sys.platform:\n    case 'win32':\n        LOW = 1\n    case _:\n        LOW = 0\n# %%\n"
    + USING.format("torch.ones(length, length).tril(LOW).bool()"),
    "unpacking": "import torch\n(a, *rest), b = (0, 1, 2), 3\n# %%\n"
    + USING.format("torch.ones(length, length).tril(a).bool()"),
    "globals": "import torch\nglobals()['ZERO'] = 0\nZERO = 0\ndel b if False else None\n# %%\nANSWER",
    "a comment at the end": "import torch\n# %%\nANSWER\n# TODO: ask in class (why?!)\n",
    # cells that can't be read
    "a set-up cell with a typing error": "import math, torch\nimport torch.nn.functional as F\nprint 'ready'\nLOW = 0\n# %%\n"
    + USING.format("torch.ones(length, length).tril(LOW).bool()"),
    "a set-up cell that ends too early": "import torch\nLOW = 0\nplt.plot([1, 2",
    "prose in a set-up cell": "import torch\nHere I load everything, don't run twice!\nLOW = 0\n# %%\n"
    + USING.format("torch.ones(length, length).tril(LOW).bool()"),
    "a traceback that was pasted": "import torch\n# %%\nNameError                Traceback (most recent call last)\n"
    "<ipython-input-3> in <module>\n----> 1 causal_mask(3)\n# %%\nANSWER",
    # files
    "%%writefile": "%%writefile helpers.py\nimport torch\ndef lower(n):\n    return torch.ones(n, n).tril().bool()\n# %%\n"
    "from helpers import lower\n# %%\n" + USING.format("lower(length)"),
    "%%writefile twice": "%%writefile helpers.py\nimport torch\n# %%\n%%writefile -a helpers.py\ndef lower(n):\n"
    "    return torch.ones(n, n).tril().bool()\n# %%\nimport helpers\n# %%\n" + USING.format("helpers.lower(length)"),
    "%%writefile into a package": "!mkdir -p utils\n# %%\n%%writefile /content/utils/masks.py\nimport torch\ndef lower(n):\n"
    "    return torch.ones(n, n).tril().bool()\n# %%\nfrom utils.masks import lower\n# %%\n"
    + USING.format("lower(length)"),
    "a package beside": "from utils import probe\nfrom utils.deep.er import ONE\nimport torch\n# %%\n"
    + USING.format(f"probe.same({MASK}) & ONE"),
    "a package beside, by its name": "import utils.probe as p, torch\n# %%\n" + USING.format(f"p.same({MASK})"),
    "a package beside, all of it": "import torch\nfrom utils.probe import *\n# %%\n" + USING.format(f"same({MASK})"),
    "%run of a notebook": "%run helper.ipynb\n# %%\n" + USING.format("helped(length)"),
    "%run of a file": "import torch\n%run -i './utils/probe.py'\n# %%\n" + USING.format(f"same({MASK})"),
}

PROBE = "from .deep import er\n\n\ndef same(x):\n    return x if er.ONE else None\n"
FILES: dict[str, dict[str, str]] = {
    name: {"utils/__init__.py": "", "utils/probe.py": PROBE, "utils/deep/er.py": "ONE = True\n"}
    for name in STYLES
    if name.startswith("a package beside")
} | {
    "%run of a notebook": {
        "helper.ipynb": "import torch\n# %%\ndef helped(n):\n    return torch.ones(n, n).tril().bool()"
    },
    "%run of a file": {"utils/probe.py": "def same(x):\n    return x\n"},
}
