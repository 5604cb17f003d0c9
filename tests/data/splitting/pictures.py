"""Photographs made on the spot, and what people do to them."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageOps

WIDTH, HEIGHT = 240, 160


def photograph(seed: int, *, objects: int = 6) -> Image.Image:
    """Paint a scene: light that changes over the image, objects of any color, grain."""
    random = np.random.default_rng(seed)
    rough = random.integers(40, 216, (4, 6, 3), np.uint8)
    image = Image.fromarray(rough).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    for _ in range(objects):
        x, y = random.integers(0, WIDTH), random.integers(0, HEIGHT)
        width, height = random.integers(15, 70, 2)
        draw.ellipse((x, y, x + width, y + height), fill=tuple(random.integers(0, 256, 3).tolist()))
    grain = random.normal(0, 4, (HEIGHT, WIDTH, 3))
    return Image.fromarray((np.asarray(image) + grain).clip(0, 255).astype(np.uint8))


def jpeg(image: Image.Image, quality: int = 90) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def png(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def frame(seed: int, number: int) -> Image.Image:
    """Give a frame of a video: the camera moves on slowly, and something runs through."""
    wide = photograph(seed, objects=12).resize((2 * WIDTH, HEIGHT))
    left = min(4 * number, WIDTH)
    image = wide.crop((left, 0, left + WIDTH, HEIGHT))
    x = (11 * number) % WIDTH
    ImageDraw.Draw(image).rectangle((x, 80, x + 16, 96), fill=(250, 20, 20))
    return image


COPIES = {
    "requantized": lambda image: jpeg(image, quality=25),
    "as png": png,
    "smaller": lambda image: jpeg(image.resize((WIDTH // 3, HEIGHT // 3))),
    "larger": lambda image: jpeg(image.resize((WIDTH * 2, HEIGHT * 2))),
    "brighter": lambda image: jpeg(ImageEnhance.Brightness(image).enhance(1.2)),
    "darker": lambda image: jpeg(ImageEnhance.Brightness(image).enhance(0.5)),
    "more contrast": lambda image: jpeg(ImageEnhance.Contrast(image).enhance(1.3)),
    "gray": lambda image: jpeg(image.convert("L")),
    "mirrored": lambda image: jpeg(ImageOps.mirror(image)),
    "upside down": lambda image: jpeg(ImageOps.flip(image)),
    "a quarter turn": lambda image: jpeg(image.transpose(Image.Transpose.ROTATE_90)),
    "a half turn": lambda image: jpeg(image.transpose(Image.Transpose.ROTATE_180)),
    "transposed": lambda image: jpeg(image.transpose(Image.Transpose.TRANSPOSE)),
    "cropped a little": lambda image: jpeg(image.crop((3, 2, WIDTH - 3, HEIGHT - 2))),
}
