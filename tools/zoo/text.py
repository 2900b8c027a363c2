"""transformers: small configurations of real architectures, traced."""

import torch
import transformers as t

from zoo import Model

VOCABULARY = 99
small = dict(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37,
             max_position_embeddings=64)


class Outputs(torch.nn.Module):
    """Tensors by position in, a tuple of tensors out."""

    def __init__(self, model, *names, **fixed):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *arguments):
        out = self.model(**dict(zip(self.names, arguments)), **self.fixed, return_dict=True)
        return tuple(v for v in out.values() if isinstance(v, torch.Tensor))


def ids(batch, length):
    return torch.randint(5, VOCABULARY, (batch, length))


def with_mask():
    mask = torch.ones(2, 13, dtype=torch.int64)
    mask[1, 9:] = 0
    return [(ids(2, 13), mask), (ids(2, 13), torch.ones(2, 13, dtype=torch.int64))]


def encoder(model, config, attention="sdpa", calls=with_mask, names=("input_ids", "attention_mask"), dtype=torch.float32, **fixed):
    def build():
        configuration = config() if callable(config) else config
        configuration._attn_implementation = attention
        return Outputs(getattr(t, model)(configuration), *names, **fixed)
    return Model(build, calls, "trace", dtype)


def pixels():
    return [(torch.rand(2, 3, 32, 32),), (torch.rand(2, 3, 32, 32),)]


def translation():
    return [(ids(2, 11), ids(2, 7)), (ids(2, 11), ids(2, 7))]


seq2seq = dict(vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37, max_position_embeddings=64)
llama = small | dict(num_key_value_heads=2)
both = ("input_ids", "decoder_input_ids")

MODELS = {
    "bert": encoder("BertModel", lambda: t.BertConfig(**small)),
    "bert_eager": encoder("BertModel", lambda: t.BertConfig(**small), "eager"),
    "bert_bfloat16": encoder("BertModel", lambda: t.BertConfig(**small), "eager", dtype=torch.bfloat16),
    "bert_classifier": encoder("BertForSequenceClassification", lambda: t.BertConfig(**small)),
    "bert_masked_lm": encoder("BertForMaskedLM", lambda: t.BertConfig(**small)),
    "bert_question_answering": encoder("BertForQuestionAnswering", lambda: t.BertConfig(**small)),
    "distilbert": encoder("DistilBertModel", lambda: t.DistilBertConfig(vocab_size=VOCABULARY, dim=32, n_layers=2, n_heads=4,
                                                                        hidden_dim=37, max_position_embeddings=64)),
    "roberta": encoder("RobertaModel", lambda: t.RobertaConfig(**small)),
    "albert": encoder("AlbertModel", lambda: t.AlbertConfig(**small, embedding_size=16)),
    "electra": encoder("ElectraModel", lambda: t.ElectraConfig(**small, embedding_size=16)),
    "deberta_v2": encoder("DebertaV2Model", lambda: t.DebertaV2Config(**small, relative_attention=True, pos_att_type=["p2c", "c2p"]),
                          "eager"),
    "mpnet": encoder("MPNetModel", lambda: t.MPNetConfig(**small), "eager"),
    "fnet": encoder("FNetModel", lambda: t.FNetConfig(**small), "eager", lambda: [(ids(2, 13),)], ("input_ids",)),
    "xlnet": encoder("XLNetModel", lambda: t.XLNetConfig(vocab_size=VOCABULARY, d_model=32, n_layer=2, n_head=4, d_inner=37), "eager"),
    "gpt2": encoder("GPT2LMHeadModel", lambda: t.GPT2Config(vocab_size=VOCABULARY, n_positions=64, n_embd=32, n_layer=2, n_head=4),
                    use_cache=False),
    "gpt_neo": encoder("GPTNeoForCausalLM", lambda: t.GPTNeoConfig(vocab_size=VOCABULARY, hidden_size=32, num_layers=2, num_heads=4,
                                                                   attention_types=[[["global", "local"], 1]], window_size=4,
                                                                   max_position_embeddings=64), "eager", use_cache=False),
    "llama": encoder("LlamaForCausalLM", lambda: t.LlamaConfig(**llama), use_cache=False),
    "mistral": encoder("MistralForCausalLM", lambda: t.MistralConfig(**llama), "eager", use_cache=False),
    "qwen2": encoder("Qwen2ForCausalLM", lambda: t.Qwen2Config(**llama), use_cache=False),
    "gemma": encoder("GemmaForCausalLM", lambda: t.GemmaConfig(**llama, head_dim=8), use_cache=False),
    "phi": encoder("PhiForCausalLM", lambda: t.PhiConfig(**llama), use_cache=False),
    "opt": encoder("OPTForCausalLM", lambda: t.OPTConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, ffn_dim=37,
                                                         num_attention_heads=4, max_position_embeddings=64, word_embed_proj_dim=32),
                   use_cache=False),
    "t5": encoder("T5ForConditionalGeneration", lambda: t.T5Config(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=37, num_layers=2,
                                                                   num_heads=4), "eager", translation, both, use_cache=False),
    "bart": encoder("BartForConditionalGeneration", lambda: t.BartConfig(**seq2seq), "sdpa", translation, both, use_cache=False),
    "marian": encoder("MarianMTModel", lambda: t.MarianConfig(**seq2seq, pad_token_id=1), "eager", translation, both, use_cache=False),
    "vit_hf": encoder("ViTModel", lambda: t.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                                      intermediate_size=37, image_size=32, patch_size=8), calls=pixels,
                      names=("pixel_values",)),
    "clip_vision": encoder("CLIPVisionModel", lambda: t.CLIPVisionConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                                                         intermediate_size=37, image_size=32, patch_size=8),
                           calls=pixels, names=("pixel_values",)),
    "segformer": encoder("SegformerForSemanticSegmentation", lambda: t.SegformerConfig(hidden_sizes=[8, 16, 24, 32], depths=[1] * 4,
                                                                                       num_attention_heads=[1, 2, 2, 4]),
                         "eager", lambda: [(torch.rand(2, 3, 64, 64),)], ("pixel_values",)),
    "whisper": encoder("WhisperForConditionalGeneration",
                       lambda: t.WhisperConfig(**{k: v for k, v in seq2seq.items() if k != "max_position_embeddings"}, num_mel_bins=20,
                                               max_source_positions=30, max_target_positions=20, pad_token_id=1, bos_token_id=1,
                                               eos_token_id=2, decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None),
                       "sdpa", lambda: [(torch.randn(2, 20, 60), ids(2, 7))], ("input_features", "decoder_input_ids"), use_cache=False),
    "wav2vec2_hf": encoder("Wav2Vec2ForCTC", lambda: t.Wav2Vec2Config(**(small | dict(conv_dim=(16, 16), conv_kernel=(10, 3),
                                                                                     conv_stride=(5, 2), num_conv_pos_embeddings=16,
                                                                                     num_conv_pos_embedding_groups=2))), "eager",
                           lambda: [(torch.randn(2, 800),)], ("input_values",)),
}
