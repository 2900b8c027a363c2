"""Sound: filters, spectrograms, codecs, voices."""

import torch

from . import Case, program


@program("julius")
def resample(rate=16000):
    import julius

    return Case(julius.ResampleFrac(44100, rate), [(torch.randn(2, 4410),), (torch.randn(1, 1, 882),)])


@program("julius")
def low_pass():
    import julius

    return Case(julius.LowPassFilters([0.1, 0.2]), [(torch.randn(3, 400),)], "trace")


@program("julius")
def bands():
    import julius

    return Case(julius.SplitBands(8000, n_bands=4), [(torch.randn(2, 800),)], "trace")


@program("julius")
def fft_convolution():
    import julius

    return Case(julius.FFTConv1d(4, 6, 33, stride=2), [(torch.randn(2, 4, 300),)], "trace")


@program("asteroid-filterbanks")
def stft_bank():
    import asteroid_filterbanks as af

    return Case(af.Encoder(af.STFTFB(64, 64, stride=16)), [(torch.randn(2, 1, 800),)])


@program("asteroid-filterbanks")
def free_bank():
    import asteroid_filterbanks as af

    return Case(af.Encoder(af.FreeFB(32, 16)), [(torch.randn(2, 1, 400),), (torch.randn(1, 160),)])


@program("nnAudio", "scipy")
def mel_spectrogram():
    from nnAudio import features

    return Case(features.MelSpectrogram(sr=8000, n_fft=256, n_mels=32, hop_length=64, verbose=False),
                [(torch.randn(2, 4000),)], "trace")


@program("nnAudio", "scipy")
def constant_q():
    from nnAudio import features

    return Case(features.CQT1992v2(sr=8000, hop_length=128, fmin=220, n_bins=24, verbose=False), [(torch.randn(1, 8000),)],
                "trace")


@program("auraloss")
def stft_loss():
    import auraloss

    return Case(auraloss.freq.STFTLoss(fft_size=256, hop_size=64, win_length=256), [(torch.randn(1, 1, 2000), torch.randn(1, 1, 2000))],
                "trace")


@program("conformer", "einops")
def conformer():
    from conformer import Conformer

    return Case(Conformer(32, depth=2, dim_head=8, heads=4, conv_kernel_size=7), [(torch.randn(2, 20, 32),)], "trace")


@program("silero-vad")
def silero_file():
    import importlib.util
    import pathlib

    folder = pathlib.Path(importlib.util.find_spec("silero_vad").origin).parent / "data"
    file = next(folder.glob("silero_vad.jit"))
    return Case(str(file), [(torch.randn(1, 512) * 0.1, 16000), (torch.randn(2, 256) * 0.1, 8000)], "file")
