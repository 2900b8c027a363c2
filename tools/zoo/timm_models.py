"""timm: classifiers of many families, with few classes and small images."""

import timm

from zoo import Model, images


def classifier(name, size=64, how="script trace", **arguments):
    return Model(lambda: timm.create_model(name, pretrained=False, num_classes=10, **arguments), images((2, 3, size, size)), how)


CONVOLUTIONS = ["resnet26d", "seresnet18", "skresnet18", "ecaresnet26t", "res2net50_14w_8s", "resnest14d", "dla34", "hrnet_w18_small",
                "efficientnet_lite0", "tf_efficientnetv2_b0", "mobilenetv4_conv_small", "ghostnet_100", "repvgg_a0", "regnety_002",
                "nfnet_l0", "cspresnet50", "darknet53", "vovnet39a", "convmixer_768_32", "convnextv2_atto", "mobileone_s0",
                "fbnetc_100", "hardcorenas_a", "lcnet_050", "rexnet_100", "selecsls42b", "dpn48b", "inception_v4"]
ATTENTION = ["mobilevit_xxs", "edgenext_xx_small", "poolformer_s12", "efficientformerv2_s0", "fastvit_t8", "repvit_m0_9",
             "bat_resnext26ts", "lambda_resnet26t", "halonet26t", "botnet26t_256"]
FIXED = {"deit_tiny_patch16_224": {}, "vit_tiny_patch16_224": {}, "beit_base_patch16_224": {"depth": 2}, "cait_xxs24_224": {},
         "xcit_nano_12_p16_224": {}, "mixer_s16_224": {}, "gmlp_s16_224": {}, "pit_ti_224": {}, "swin_tiny_patch4_window7_224": {},
         "eva02_tiny_patch14_224": {}, "levit_128s": {"size": 224}, "crossvit_tiny_240": {"size": 240}, "coat_tiny": {"size": 224},
         "twins_pcpvt_small": {"size": 224}, "pvt_v2_b0": {"size": 224}, "maxvit_rmlp_pico_rw_256": {"size": 256},
         "tiny_vit_5m_224": {"size": 224}, "visformer_tiny": {"size": 224}}

MODELS = {f"timm_{name}": classifier(name, 128 if name in ("inception_v4", "botnet26t_256", "halonet26t", "mobilevit_xxs") else 64)
          for name in CONVOLUTIONS + ATTENTION}
MODELS |= {f"timm_{name}": classifier(name, more.pop("size", 224), **more) for name, more in FIXED.items()}
