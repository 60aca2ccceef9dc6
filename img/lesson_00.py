"""The map of the series: the 2017 Transformer, each block with the lesson that builds it."""

from drawing import AMBER, BODY, GREY, HEAD, KEY, LINE, PANEL, QUERY, SMALL, TIMES, VALUE, WHITE, Drawing, mix

LESSONS = [
    "start here",
    "attention",
    "multi-head attention",
    "positional encoding",
    "residual blocks",
    "masking",
    "the Transformer",
    "training",
    "decoding",
]
BLOCK = 232  # the width of a block of the map
ATTENTION, FORWARD = mix(AMBER, 0.22), PANEL


class Tower:
    """The encoder or the decoder of the map: blocks stacked upwards around a middle line."""

    def __init__(self, drawing, middle, side, bottom):
        self.drawing, self.middle, self.side, self.y = drawing, middle, side, bottom
        self.left = middle - BLOCK / 2

    def flow(self, height, head=False):
        """Let the line rise by `height`."""
        self.drawing.route([(self.middle, self.y), (self.middle, self.y - height)], head=head)
        self.y -= height

    def block(self, height, words, badge, fill=WHITE):
        self.y -= height
        self.drawing.box(self.left, self.y, BLOCK, height, words, fill, badge=badge)

    def attention(self, words, masked=False):
        """A multi-head box with what lies inside it: attention, h times, and at will a mask."""
        d = self.drawing
        self.y -= 82
        d.rect(self.left, self.y, BLOCK, 82, ATTENTION)
        d.text(self.middle + 13, self.y + 20, words)
        d.badge(self.left + 19, self.y + 20, "02")
        x, y = self.left + (87 if masked else 50), self.y + 46
        if masked:
            d.box(self.left + 7, y, 74, 29, "mask", badge="05", size=SMALL)
        d.rect(x + 8, y - 6, 108, 29)
        d.rect(x + 4, y - 3, 108, 29)
        d.box(x, y, 108, 29, "attention", badge="01", size=SMALL)
        d.text(x + 121, y + 9, f"{TIMES}*h*", SMALL, anchor="start")

    def fork(self):
        """Send two branches off the line, to its left and its right."""
        for x in (self.middle - 64, self.middle + 64):
            self.drawing.route([(x, self.y - 9), (x, self.y), (self.middle, self.y)], head=False)

    def fan_in(self, names):
        """Let the line from below reach the attention block as query, key and value, or as query alone."""
        d, colours = self.drawing, {"query": QUERY, "key": KEY, "value": VALUE}
        places = {"query": -64, "key": 0, "value": 64} if len(names) > 1 else {"query": 0}
        self.flow(16)
        if len(names) > 1:
            self.fork()
        for name in names:
            x, lift = self.middle + places[name], 7 if places[name] else 0
            d.route([(x, self.y - lift), (x, self.y - 32)], colours[name], thick=2.8)
            d.text(x + 8, self.y - 17, name, SMALL, colours[name], "start", bold=True)
        self.y -= 32

    def sublayer(self, enter, body):
        """One sub-layer, with the residual path that goes round it into *add & norm*."""
        d, start = self.drawing, self.y - 6
        enter()
        body()
        self.flow(10)
        self.y -= 30
        d.box(self.left, self.y, BLOCK, 30, "add & norm", badge="04", size=SMALL)
        lane, edge = self.middle + self.side * (BLOCK / 2 + 16), self.middle + self.side * BLOCK / 2
        d.route([(self.middle, start), (lane, start), (lane, self.y + 15), (edge, self.y + 15)])
        d.disc(self.middle, start)

    def attend(self, words, *names, masked=False):
        self.sublayer(lambda: self.fan_in(names), lambda: self.attention(words, masked))
        self.flow(12)

    def feed_forward(self):
        self.sublayer(lambda: self.flow(24, head=True), lambda: self.block(38, "feed-forward", "04", FORWARD))

    def tokens(self, words):
        """What enters at the bottom: tokens, their embeddings, and the sum with the positions."""
        d = self.drawing
        d.text(self.middle, self.y, words)
        self.y -= 13
        self.flow(18, head=True)
        self.block(32, "embedding", "06")
        self.flow(18, head=True)
        self.y -= 22
        d.disc(self.middle, self.y + 11, 11, WHITE, GREY)
        d.text(self.middle, self.y + 11, "+", HEAD)

    def panel(self, height, name):
        """The frame of a layer that is repeated; the line enters it from below."""
        d, top = self.drawing, self.y - 20 - height
        d.rect(self.middle - 148, top, 296, height, PANEL, LINE, radius=12)
        d.badge(self.middle - 128, top + 21, "06")
        d.text(self.middle - 109, top + 21, name, anchor="start", bold=True)
        d.text(self.middle + 134, top + 21, f"{TIMES} *N* layers", anchor="end")
        self.flow(34)


def legend(d, x, y):
    """Name the lesson behind each badge."""
    d.rect(x, y, 262, 9 * 28 + 48, PANEL, "none", radius=12)
    d.text(x + 18, y + 24, "The lessons", BODY, anchor="start", bold=True)
    for i, name in enumerate(LESSONS):
        d.badge(x + 30, y + 56 + 28 * i, f"{i:02d}")
        d.text(x + 53, y + 56 + 28 * i, name, anchor="start")


def encoder(d, bottom):
    tower = Tower(d, 184, -1, bottom)
    tower.tokens("source tokens (*S*)")
    tower.panel(352, "encoder")
    tower.attend("self-attention", "query", "key", "value")
    tower.feed_forward()
    return tower


def decoder(d, bottom):
    """Draw the decoder; return it, and the height at which the memory enters its cross-attention."""
    tower = Tower(d, 560, 1, bottom)
    tower.tokens("target tokens so far (*T*)")
    tower.panel(534, "decoder")
    tower.attend("masked self-attention", "query", "key", "value", masked=True)
    memory = tower.y - 48 - 41
    tower.attend("cross-attention", "query")
    tower.feed_forward()
    return tower, memory


def positions(d, y, left, right):
    """One positional encoding, added on both sides."""
    d.box((left + right) / 2 - 106, y - 17, 212, 34, "positional encoding", badge="03")
    d.route([((left + right) / 2 - 106, y), (left + 12, y)])
    d.route([((left + right) / 2 + 106, y), (right - 12, y)])


def memory_path(d, tower, memory):
    """The encoder's output becomes key and value of the decoder's cross-attention."""
    lane, edge, turn = 354, 560 - BLOCK / 2, tower.y - 70
    d.route([(tower.middle, tower.y), (tower.middle, turn), (lane, turn), (lane, memory)], head=False)
    d.path(f"M{lane} {memory - 22}V{memory + 22}")
    for name, colour, y in (("key", KEY, memory - 22), ("value", VALUE, memory + 22)):
        d.route([(lane, y), (edge, y)], colour, thick=2.8)
        d.text(lane + 7, y - 12, name, SMALL, colour, "start", bold=True)
    d.text(tower.middle + 12, turn - 13, "memory", anchor="start")


def outputs(d, tower, bottom):
    """From the last layer to the logits, and what training and decoding do with them."""
    tower.flow(76, head=True)
    tower.block(32, "linear", "06")
    tower.flow(30)
    d.text(tower.middle + 10, tower.y + 17, "logits", anchor="start")
    words = ("training", "07", "cross-entropy loss"), ("decoding", "08", "choose, append, repeat")
    for side, (name, lesson, does) in zip((-1, 1), words, strict=True):
        x, y = tower.middle + 106 * side, tower.y - 20
        d.route([(tower.middle, tower.y), (x, tower.y), (x, y)])
        d.rect(x - 97, y - 64, 194, 64)
        d.badge(x - 78, y - 44, lesson)
        d.text(x + 13, y - 44, name)
        d.text(x, y - 18, does, SMALL, GREY)
    lane = tower.middle + 186
    d.route([(lane, y), (lane, bottom), (tower.middle + 122, bottom)], dash="6 5")


def transformer_map():
    d = Drawing(
        920,
        "Map of the series: the Transformer, and the lesson that builds each part",
        "The 2017 Transformer, drawn from bottom to top. Left, the encoder: embedding (lesson 06) plus positional "
        "encoding (03), then N layers of multi-head attention (02, with attention 01 inside) and feed-forward (04), "
        "each followed by add and norm (04). Right, the decoder: the same with a mask (05) in its self-attention, "
        "and between the two a cross-attention whose query comes from the decoder and whose key and value come from "
        "the encoder. A linear layer (06) gives logits; training (07) compares them with the right tokens, "
        "decoding (08) chooses a token and feeds it back.",
    )
    left = encoder(d, 892)
    right, memory = decoder(d, 892)
    positions(d, 892 - 92, left.middle, right.middle)
    memory_path(d, left, memory)
    outputs(d, right, 892)
    legend(d, 36, 44)
    return d
