"""An encoder of Unix compress, for the decoder to be tested against."""


class Encoder:
    """Unix compress: codes of growing width in groups of eight, least significant bit first."""

    def __init__(self, widest):
        self.widest, self.pieces, self.group = widest, [], []
        self.clear()

    def clear(self):
        self.table = {bytes((value,)): value for value in range(256)}
        self.next_code, self.width = 257, 9

    def emit(self, code):
        self.group.append(code)
        if len(self.group) == 8:
            self.flush(full=True)

    def flush(self, *, full):
        # Eight codes of one width fill as many bytes as the width has bits; only the last group may be shorter.
        number = sum(code << (self.width * place) for place, code in enumerate(self.group))
        size = self.width if full else -(-len(self.group) * self.width // 8)
        self.pieces.append(number.to_bytes(self.width, "little")[: size if self.group else 0])
        self.group.clear()

    def learn(self, word):
        if self.next_code < 1 << self.widest:
            self.table[word] = self.next_code
            self.next_code += 1
            # The decoder's table is one entry behind.
            if self.next_code > (1 << self.width) and self.width < self.widest:
                self.flush(full=True)
                self.width += 1


def compress_lzw(content, widest=16, clear_at=-1):
    """Pack as Unix compress does; the table is cleared once, at the first code from byte ``clear_at`` on."""
    encoder, word = Encoder(widest), b""
    for place, value in enumerate(content):
        longer = word + bytes((value,))
        if longer in encoder.table:
            word = longer
            continue
        encoder.emit(encoder.table[word])
        encoder.learn(longer)
        word = longer[-1:]
        if 0 <= clear_at <= place:
            encoder.emit(256)
            encoder.flush(full=True)
            encoder.clear()
            clear_at = -1
    if word:
        encoder.emit(encoder.table[word])
    encoder.flush(full=False)
    return b"\x1f\x9d" + bytes((0x80 | widest,)) + b"".join(encoder.pieces)
