"""Ways in which a disk, a user or another program damages a file."""

import shutil


def flip_bit(path, number):
    content = bytearray(path.read_bytes())
    content[number // 8] ^= 1 << (number % 8)
    path.write_bytes(content)


def cut_off(path, rng):
    path.write_bytes(path.read_bytes()[: rng.integers(path.stat().st_size)])


def one_bit(path, rng):
    flip_bit(path, int(rng.integers(8 * path.stat().st_size)))


def random_bytes(path, rng):
    path.write_bytes(rng.bytes(rng.integers(1, 2000)))


def zeros(path, rng):
    """As file systems leave files that were not flushed before a power cut."""
    path.write_bytes(bytes(path.stat().st_size))


def gone(path, rng):
    path.unlink()


def folder_gone(path, rng):
    shutil.rmtree(path.parent)


DAMAGES = [cut_off, one_bit, random_bytes, zeros, gone, folder_gone]


def strike(damage, root, rng):
    """Damage one file below ``root`` that is not empty, and return which."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)
    path = files[rng.integers(len(files))]
    damage(path, rng)
    return f"{damage.__name__} {path}"
