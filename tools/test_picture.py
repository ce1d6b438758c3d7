#!/usr/bin/env python3
"""Makes a picture to try filters on: a word in large letters and a fan of lines, under noise. The same for a seed.

    test_picture.py OUT.ppm [--width N] [--height N] [--noise SHARE] [--seed N]
"""
import argparse
import math
import random

LETTERS = {  # 5 x 7
    "C": ("01110", "10001", "10000", "10000", "10000", "10001", "01110"),
    "O": ("01110", "10001", "10001", "10001", "10001", "10001", "01110"),
    "R": ("11110", "10001", "10001", "11110", "10100", "10010", "10001"),
    "A": ("01110", "10001", "10001", "11111", "10001", "10001", "10001"),
    "L": ("10000", "10000", "10000", "10000", "10000", "10000", "11111"),
    "E": ("11111", "10000", "10000", "11110", "10000", "10000", "11111"),
}
WORD = "CORACLE"
INK = (24, 48, 96)
PAPER = (244, 236, 214)
LINES = (178, 58, 36)


def in_word(x, y):
    """x, y: from 0 to 1 within the word's box."""
    column = int(x * (6 * len(WORD) - 1))
    letter, within = divmod(column, 6)
    return within < 5 and LETTERS[WORD[letter]][int(y * 7)][within] == "1"


def colour(x, y, width, height):
    u, v = (x - 0.06 * width) / (0.88 * width), (y - 0.1 * height) / (0.35 * height)
    if 0 <= u < 1 and 0 <= v < 1 and in_word(u, v):
        return INK
    # Lines that come closer and closer: what is finest goes first.
    angle = math.atan2(y - 0.52 * height, x - 0.5 * width)
    if 0.05 < angle < math.pi - 0.05 and int(angle * 40) % 2 == 0:
        return LINES
    return PAPER


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out")
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--height", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0.25, help="share of the pixels that chance decides")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    samples = bytearray()
    for y in range(options.height):
        for x in range(options.width):
            pixel = colour(x, y, options.width, options.height)
            if chance.random() < options.noise:
                pixel = [chance.randrange(256) for _ in range(3)]
            samples += bytes(pixel)
    with open(options.out, "wb") as file:
        file.write(f"P6\n{options.width} {options.height}\n255\n".encode() + samples)


if __name__ == "__main__":
    main()
