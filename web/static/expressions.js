// Expressions as a learner of Python writes them: `2 * n_layers * d_head`, `sum(n * n for n in lengths)`,
// `(w**f) / (w**f).sum(-1, keepdim=True)`. Numbers, lists, comparisons and a few functions; nothing else can be called.

const TOKEN =
  /\s*(?:(\d+(?:[\d_]*\d)?(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)|([A-Za-z_]\w*)|("[^"]*"|'[^']*')|(\*\*|\/\/|==|!=|<=|>=|[-+*/%^()[\],.<>=]))/iy;
const WORDS = new Set(["and", "or", "not", "if", "else", "for", "in"]);

function tokens(text) {
  const found = [];
  const plain = text.replaceAll("−", "-").replaceAll("·", "*").replaceAll("×", "*").replaceAll(/\b(?:math|torch|F)\./g, "").trim();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < plain.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(plain);
    if (!match) throw new SyntaxError(`I cannot read “${plain.slice(at, at + 12).trim()}”`);
    const [, number, name, string, sign] = match;
    if (number) found.push({ kind: "number", value: Number(number.replaceAll("_", "")) });
    else if (string) found.push({ kind: "string", value: string.slice(1, -1) });
    else found.push({ kind: name && !WORDS.has(name) ? "name" : "sign", value: name ?? sign });
  }
  return found;
}

// ── numbers and lists of numbers, which broadcast along what has length 1 ──

function each(f, a, b) {
  if (!Array.isArray(a) && !Array.isArray(b)) return f(a, b);
  if (!Array.isArray(b)) return a.map((x) => each(f, x, b));
  if (!Array.isArray(a)) return b.map((y) => each(f, a, y));
  const [n, m] = [a.length, b.length];
  if (n !== m && n !== 1 && m !== 1) throw new TypeError(`lists of ${n} and ${m} do not fit together`);
  return Array.from({ length: Math.max(n, m) }, (_, i) => each(f, a[n === 1 ? 0 : i], b[m === 1 ? 0 : i]));
}

const flat = (x) => (Array.isArray(x) ? x.flat(Infinity) : [x]);
const rows = (f, x) => (Array.isArray(x[0]) ? x.map((row) => rows(f, row)) : f(x));
const total = (x) => flat(x).reduce((a, b) => a + Number(b), 0);
const gcd = (a, b) => (b ? gcd(b, a % b) : Math.abs(a));
const floorMod = (a, b) => a - b * Math.floor(a / b);
const all = (args) => (args.length === 1 ? flat(args[0]) : args.flat(Infinity));

function comb(n, k) {
  if (k < 0 || k > n) return 0;
  let result = 1;
  for (let i = 1; i <= k; i += 1) result = (result * (n - k + i)) / i;
  return Math.round(result);
}

function range(...args) {
  const [start, stop, step = 1] = args.length === 1 ? [0, args[0]] : args;
  return Array.from({ length: Math.max(0, Math.ceil((stop - start) / step)) }, (_, i) => start + i * step);
}

const FUNCTIONS = {
  sum: (...args) => total(args),
  prod: (...args) => all(args).reduce((a, b) => a * b, 1),
  max: (...args) => Math.max(...all(args)),
  min: (...args) => Math.min(...all(args)),
  gcd: (...args) => all(args).reduce(gcd, 0),
  lcm: (...args) => all(args).reduce((a, b) => (a * b) / (gcd(a, b) || 1), 1),
  len: (x) => x.length,
  abs: (x) => each(Math.abs, x),
  int: Math.trunc,
  float: Number,
  round: (x, n = 0) => Math.round(x * 10 ** n) / 10 ** n,
  sqrt: (x) => each(Math.sqrt, x),
  exp: (x) => each(Math.exp, x),
  log: (x) => each(Math.log, x),
  floor: Math.floor,
  ceil: Math.ceil,
  softmax: (x) => rows(shares, x),
  comb,
  range,
};

const shares = (row) => {
  const powers = row.map((x) => Math.exp(x - Math.max(...row)));
  return powers.map((x) => x / total(powers));
};
const METHODS = {
  sum: (x, ...args) => (args.length ? rows((row) => [total(row)], x) : total(x)),
  softmax: FUNCTIONS.softmax,
  log: FUNCTIONS.log,
  exp: FUNCTIONS.exp,
};
const BINARY = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": floorMod,
  "**": (a, b) => a ** b,
  "^": (a, b) => a ** b,
};
const COMPARE = {
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
};

// ── reading: each part becomes a function of the names that are known ──

class Reader {
  constructor(text) {
    this.tokens = tokens(text);
    this.at = 0;
  }
  get here() {
    return this.tokens[this.at] ?? { kind: "end", value: "" };
  }
  is(...signs) {
    return this.here.kind === "sign" && signs.includes(this.here.value);
  }
  take(sign) {
    if (!this.is(sign)) return false;
    this.at += 1;
    return true;
  }
  expect(sign) {
    if (!this.take(sign)) throw new SyntaxError(this.here.value ? `“${sign}” is missing` : "it ends too early");
  }
  whole() {
    const first = this.expression();
    const value = this.is(",") ? this.list(first, () => this.here.kind === "end") : first;
    if (this.here.kind !== "end") throw new SyntaxError(`I do not expect “${this.here.value}” here`);
    return value;
  }
  expression() {
    const value = this.either();
    if (!this.take("if")) return value;
    const condition = this.either();
    this.expect("else");
    const other = this.expression();
    return (scope) => (condition(scope) ? value(scope) : other(scope));
  }
  either() {
    let left = this.both();
    while (this.take("or")) {
      const [one, other] = [left, this.both()];
      left = (scope) => one(scope) || other(scope);
    }
    return left;
  }
  both() {
    let left = this.inverse();
    while (this.take("and")) {
      const [one, other] = [left, this.inverse()];
      left = (scope) => one(scope) && other(scope);
    }
    return left;
  }
  inverse() {
    if (!this.take("not")) return this.comparison();
    const value = this.inverse();
    return (scope) => !value(scope);
  }
  comparison() {
    const left = this.sum();
    if (!this.is(...Object.keys(COMPARE))) return left;
    const compare = COMPARE[this.tokens[this.at++].value];
    const right = this.sum();
    return (scope) => compare(left(scope), right(scope));
  }
  chain(next, ...signs) {
    let left = next();
    while (this.is(...signs)) {
      const operate = BINARY[this.tokens[this.at++].value];
      const [one, other] = [left, next()];
      left = (scope) => each(operate, one(scope), other(scope));
    }
    return left;
  }
  sum() {
    return this.chain(() => this.product(), "+", "-");
  }
  product() {
    return this.chain(() => this.unary(), "*", "/", "//", "%");
  }
  unary() {
    if (this.take("+")) return this.unary();
    if (!this.take("-")) return this.power();
    const value = this.unary();
    return (scope) => each((x) => -x, value(scope));
  }
  power() {
    const base = this.postfix();
    if (!this.is("**", "^")) return base;
    this.at += 1;
    const exponent = this.unary();
    return (scope) => each(BINARY["**"], base(scope), exponent(scope));
  }
  postfix() {
    let value = this.atom();
    for (;;) {
      const before = value;
      if (this.take("[")) {
        const index = this.expression();
        this.expect("]");
        value = (scope) => before(scope).at(index(scope));
      } else if (this.take(".")) {
        const name = this.tokens[this.at++]?.value;
        const method = Object.hasOwn(METHODS, name) && METHODS[name];
        if (!method) throw new SyntaxError("I know only .sum(-1), .softmax(-1), .exp() and .log()");
        this.expect("(");
        const args = this.arguments();
        value = (scope) => method(before(scope), ...args.map((one) => one(scope)));
      } else return value;
    }
  }
  arguments() {
    const args = [];
    while (!this.take(")")) {
      const [name, sign] = [this.here, this.tokens[this.at + 1]];
      if (name.kind === "name" && sign?.value === "=") {
        this.at += 2; // keepdim=True and the like change nothing here
        this.expression();
      } else args.push(this.collected(this.expression()));
      if (!this.is(")")) this.expect(",");
    }
    return args;
  }
  atom() {
    const { kind, value } = this.here;
    this.at += 1;
    if (kind === "number" || kind === "string") return () => value;
    if (kind === "sign" && value === "(") return this.list(this.expression(), () => this.is(")"), ")");
    if (kind === "sign" && value === "[")
      return this.take("]") ? () => [] : this.list(this.expression(), () => this.is("]"), "]");
    if (kind !== "name") throw new SyntaxError(value ? `I do not expect “${value}” here` : "it ends too early");
    if (this.take("(")) return this.call(value);
    return (scope) => known(value, scope);
  }
  call(name) {
    const args = this.arguments();
    if (!Object.hasOwn(FUNCTIONS, name))
      throw new SyntaxError(`I do not know the function ${name} (there is ${Object.keys(FUNCTIONS).join(", ")})`);
    return (scope) => FUNCTIONS[name](...args.map((one) => one(scope)));
  }
  // What stands in brackets: one value, several, or one for each of a list.
  list(first, ends, bracket) {
    const square = bracket === "]";
    const collected = this.collected(first);
    if (collected !== first) {
      this.expect(bracket);
      return collected;
    }
    const parts = [first];
    let isMany = square;
    while (this.take(",")) {
      isMany = true;
      if (!ends()) parts.push(this.expression());
    }
    if (bracket) this.expect(bracket);
    return isMany ? (scope) => parts.map((part) => part(scope)) : first;
  }
  collected(value) {
    if (!this.take("for")) return value;
    const names = [];
    do names.push(this.tokens[this.at++].value);
    while (this.take(","));
    this.expect("in");
    const over = this.either();
    const condition = this.take("if") ? this.either() : () => true;
    const within = (scope, one) => ({
      ...scope,
      ...(names.length > 1 ? Object.fromEntries(names.map((name, i) => [name, one[i]])) : { [names[0]]: one }),
    });
    return (scope) => {
      const scopes = over(scope).map((one) => within(scope, one));
      return scopes.filter(condition).map(value);
    };
  }
}

const CONSTANTS = { True: true, False: false, None: null, pi: Math.PI };

function known(name, scope) {
  if (Object.hasOwn(scope, name)) return scope[name];
  if (Object.hasOwn(CONSTANTS, name)) return CONSTANTS[name];
  throw new ReferenceError(`I do not know ${name} (there is ${Object.keys(scope).join(", ")})`);
}

// A function of the known names; throws an error that says what cannot be read.
export function parsed(text) {
  return new Reader(text).whole();
}
