"""Videos made on the spot."""

from __future__ import annotations

from fractions import Fraction

import av
from tests.prediction.spread_weights import noise


def write_video(path, frames=10, size=(64, 80), rate=10, *, audio=False, options=None):
    """Write frames of noise as H.264; give them as they were before they were encoded."""
    pictures = [noise(*size, seed) for seed in range(frames)]
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream("libx264", rate=Fraction(rate), options={"crf": "10"})
        stream.width, stream.height, stream.pix_fmt = size[1], size[0], "yuv420p"
        sound = container.add_stream("aac", rate=44100) if audio else None
        container.start_encoding()  # writes the head, also where nothing follows
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
        if sound is not None:
            silence = av.AudioFrame(format="fltp", layout="stereo", samples=1024)
            for plane in silence.planes:
                plane.update(bytes(plane.buffer_size))
            silence.sample_rate = 44100
            container.mux(sound.encode(silence))
            container.mux(sound.encode(None))
    return pictures


def turn_left(path):
    """Note in an MP4 file that its pictures are to be turned by a quarter."""
    content = path.read_bytes()
    one, zero, last = (number.to_bytes(4, "big") for number in (0x10000, 0, 0x40000000))
    minus = (2**32 - 0x10000).to_bytes(4, "big")
    upright = one + zero * 3 + one + zero * 3 + last
    turned = zero + minus + zero + one + zero * 4 + last
    track = content.index(b"tkhd")
    place = content.index(upright, track)
    path.write_bytes(content[:place] + turned + content[place + len(turned) :])
