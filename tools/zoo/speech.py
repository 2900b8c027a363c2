"""torchaudio: acoustic models, separation, synthesis, transforms; short sounds, few layers."""

import torch
import torchaudio
from torchaudio import models, transforms

from zoo import Model, normals


def wave(*shapes):
    return lambda: [(torch.rand(*shape) * 2 - 1,) for shape in shapes]


def lengths(batch, time, features):
    return lambda: [(torch.randn(batch, time, features), torch.tensor([time] + [time - 3] * (batch - 1)))]


def wav2vec2(build=models.wav2vec2_model, **more):
    arguments = dict(extractor_mode="group_norm", extractor_conv_layer_config=[(64, 10, 5), (64, 3, 2), (64, 3, 2)],
                     extractor_conv_bias=False, encoder_embed_dim=64, encoder_projection_dropout=0.1, encoder_pos_conv_kernel=16,
                     encoder_pos_conv_groups=4, encoder_num_layers=2, encoder_num_heads=4, encoder_attention_dropout=0.1,
                     encoder_ff_interm_features=128, encoder_ff_interm_dropout=0.1, encoder_dropout=0.1,
                     encoder_layer_norm_first=False, encoder_layer_drop=0.1, aux_num_out=29)
    return lambda: build(**(arguments | more))


def sounds():
    return [(torch.randn(2, 4000), torch.tensor([4000, 3000])), (torch.randn(1, 5000), None)]


def tacotron():
    text, n = torch.randint(0, 40, (2, 12)), torch.tensor([12, 9])
    return [(text, n, torch.randn(2, 80, 30), torch.tensor([30, 22]))]


class First(torch.nn.Module):
    """Only the first result, for tracing: the others may be None."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)[0]


class Synthesis(torch.nn.Module):
    """Tacotron's infer: a loop whose end depends on the data."""

    def __init__(self):
        super().__init__()
        self.tacotron = models.Tacotron2(decoder_max_step=20, encoder_embedding_dim=32, decoder_rnn_dim=48, prenet_dim=16,
                                         attention_rnn_dim=48, postnet_embedding_dim=32, symbol_embedding_dim=32, n_symbol=40)
        for module in self.tacotron.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor):
        return self.tacotron.infer(tokens, lengths)


class Commands(torch.nn.Module):
    """M5 on raw sound, as for speech commands."""

    def __init__(self):
        super().__init__()
        layers = []
        for i, (before, after, kernel, stride) in enumerate([(1, 32, 80, 16), (32, 32, 3, 1), (32, 64, 3, 1), (64, 64, 3, 1)]):
            layers += [torch.nn.Conv1d(before, after, kernel, stride), torch.nn.BatchNorm1d(after), torch.nn.ReLU(),
                       torch.nn.MaxPool1d(4)]
        self.layers = torch.nn.Sequential(*layers)
        self.last = torch.nn.Linear(64, 35)

    def forward(self, x):
        x = self.layers(x)
        x = torch.nn.functional.avg_pool1d(x, x.shape[-1]).permute(0, 2, 1)
        return torch.nn.functional.log_softmax(self.last(x), dim=2)


class Transducer(torch.nn.Module):
    """Greedy decoding with torchaudio's RNN-T."""

    def __init__(self):
        super().__init__()
        self.rnnt = models.emformer_rnnt_model(input_dim=20, encoding_dim=32, num_symbols=11, segment_length=8,
                                               right_context_length=2, time_reduction_input_dim=16, time_reduction_stride=2,
                                               transformer_num_heads=2, transformer_ffn_dim=32, transformer_num_layers=2,
                                               transformer_dropout=0.1, transformer_activation="gelu",
                                               transformer_left_context_length=6, transformer_max_memory_size=0,
                                               transformer_weight_init_scale_strategy="depthwise",
                                               transformer_tanh_on_mem=True, symbol_embedding_dim=16, num_lstm_layers=1,
                                               lstm_layer_norm=True, lstm_layer_norm_epsilon=1e-3, lstm_dropout=0.3)

    def forward(self, sources: torch.Tensor, source_lengths: torch.Tensor, targets: torch.Tensor, target_lengths: torch.Tensor):
        return self.rnnt(sources, source_lengths, targets, target_lengths, None)


MODELS = {
    "wav2vec2": Model(wav2vec2(), sounds, "script"),
    "wav2vec2_layer_norm": Model(wav2vec2(extractor_mode="layer_norm", extractor_conv_bias=True, encoder_layer_norm_first=True),
                                 sounds, "script"),
    "wav2vec2_traced": Model(lambda: First(wav2vec2()()), lambda: [(torch.randn(2, 4000),)], "trace"),
    "hubert": Model(wav2vec2(models.wav2vec2_model, aux_num_out=None), sounds, "script"),
    "wavlm": Model(wav2vec2(models.wavlm_model, encoder_num_buckets=32, encoder_max_distance=64),
                   lambda: [(torch.randn(2, 4000),)], "script"),
    "conformer": Model(lambda: models.Conformer(32, 4, 64, 2, 7), lengths(2, 20, 32), "script trace freeze"),
    "emformer": Model(lambda: models.Emformer(32, 4, 64, 2, 8, left_context_length=8, right_context_length=2),
                      lambda: [(torch.randn(2, 26, 32), torch.tensor([26, 20]))], "script"),
    "emformer_rnnt": Model(Transducer, lambda: [(torch.randn(2, 42, 20), torch.tensor([42, 36], dtype=torch.int32),
                                                 torch.randint(0, 10, (2, 6)), torch.tensor([6, 4], dtype=torch.int32))],
                           "script"),
    "tacotron2": Model(lambda: models.Tacotron2(encoder_embedding_dim=32, decoder_rnn_dim=48, prenet_dim=16, attention_rnn_dim=48,
                                                postnet_embedding_dim=32, symbol_embedding_dim=32, n_symbol=40), tacotron, "script"),
    "tacotron2_infer": Model(Synthesis, lambda: [(torch.randint(0, 40, (2, 12)), torch.tensor([12, 9]))], "script"),
    "wavernn": Model(lambda: models.WaveRNN([2, 2, 3], 16, 12, n_res_block=2, n_rnn=32, n_fc=32, kernel_size=3, n_freq=20,
                                            n_hidden=16, n_output=16),
                     lambda: [(torch.rand(2, 1, 72), torch.rand(2, 1, 20, 8))], "script"),
    "deepspeech": Model(lambda: models.DeepSpeech(20, 64, 29), normals((2, 1, 15, 20)), "trace"),
    "wav2letter": Model(lambda: models.Wav2Letter(29, "mfcc", 13), normals((2, 13, 60)), "script trace"),
    "conv_tasnet": Model(lambda: models.ConvTasNet(enc_num_feats=32, msk_num_feats=16, msk_num_hidden_feats=32, msk_num_layers=3,
                                                   msk_num_stacks=2), normals((2, 1, 800)), "script trace"),
    "hdemucs": Model(lambda: models.HDemucs(["drums", "voice"], channels=8, nfft=256, depth=3), wave((1, 2, 8192)), "trace"),
    "speech_commands": Model(Commands, wave((2, 1, 8000), (1, 1, 8000)), "script trace"),
    "mel_spectrogram": Model(lambda: transforms.MelSpectrogram(16000, 400, n_mels=40), wave((2, 4000), (1, 3000)), "script trace"),
    "mfcc": Model(lambda: transforms.MFCC(16000, 13, melkwargs={"n_fft": 400, "n_mels": 23}), wave((1, 4000)), "script trace"),
    "lfcc": Model(lambda: transforms.LFCC(16000, 32, 13), wave((1, 4000)), "script"),
    "spectrogram": Model(lambda: transforms.Spectrogram(256, power=None), wave((2, 2000)), "script"),
    "inverse_spectrogram": Model(lambda: torch.nn.Sequential(transforms.Spectrogram(256, power=None),
                                                             transforms.InverseSpectrogram(256)), wave((2, 2048)), "script"),
    "resample": Model(lambda: transforms.Resample(16000, 11025), wave((2, 1600)), "script trace"),
    "amplitude_to_db": Model(lambda: torch.nn.Sequential(transforms.Spectrogram(256), transforms.AmplitudeToDB(top_db=80.0)),
                             wave((2, 2000)), "script"),
    "augment": Model(lambda: torch.nn.Sequential(transforms.MelSpectrogram(16000, 256, n_mels=20), transforms.ComputeDeltas(),
                                                 transforms.SlidingWindowCmn(50)), wave((1, 3000)), "script"),
    "mu_law": Model(lambda: torch.nn.Sequential(transforms.MuLawEncoding(), transforms.MuLawDecoding()), wave((2, 500)), "script"),
    "vad_fade": Model(lambda: torch.nn.Sequential(transforms.Fade(100, 100, "logarithmic"), transforms.Vol(0.5),
                                                  transforms.Preemphasis(), transforms.Deemphasis()), wave((1, 800)), "script"),
}
