"""Pictures: networks, filters, losses."""

import torch

from . import Case, program


def pictures(*shapes):
    return [(torch.rand(*shape),) for shape in shapes]


@program("kornia", "kornia_rs", "packaging")
def rgb_to_lab():
    from kornia.color import RgbToLab

    return Case(RgbToLab(), pictures((2, 3, 8, 9)))


@program("kornia", "kornia_rs", "packaging")
def gaussian_blur():
    from kornia.filters import gaussian_blur2d

    return Case(lambda x: gaussian_blur2d(x, (3, 5), (1.0, 1.5)), [(torch.rand(1, 3, 12, 10),)], "trace")


@program("kornia", "kornia_rs", "packaging")
def canny():
    from kornia.filters import Canny

    return Case(Canny(), pictures((1, 3, 24, 24)), "trace")


@program("kornia", "kornia_rs", "packaging")
def warp_perspective():
    from kornia.geometry.transform import warp_perspective

    m = torch.eye(3)[None] + 0.01 * torch.randn(1, 3, 3)
    return Case(lambda x, m: warp_perspective(x, m, (8, 9)), [(torch.rand(1, 3, 12, 10), m)], "trace")


@program("kornia", "kornia_rs", "packaging")
def rotation_conversion():
    from kornia.geometry.conversions import axis_angle_to_rotation_matrix

    return Case(axis_angle_to_rotation_matrix, [(torch.randn(5, 3),), (torch.zeros(1, 3),)], "trace")


@program("kornia", "kornia_rs", "packaging")
def hardnet():
    from kornia.feature import HardNet

    return Case(HardNet(pretrained=False), pictures((3, 1, 32, 32)))


@program("pytorch-msssim")
def ms_ssim():
    from pytorch_msssim import MS_SSIM

    return Case(MS_SSIM(data_range=1.0, channel=3), [(torch.rand(1, 3, 180, 180), torch.rand(1, 3, 180, 180))], "trace")


@program("piq")
def gmsd():
    import piq

    return Case(piq.GMSDLoss(), [(torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32))], "trace")


@program("piq")
def haarpsi():
    import piq

    return Case(piq.haarpsi, [(torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48))], "trace")


@program("efficientnet_pytorch")
def efficientnet():
    from efficientnet_pytorch import EfficientNet

    model = EfficientNet.from_name("efficientnet-b0", num_classes=7)
    model.set_swish(memory_efficient=False)
    return Case(model, pictures((1, 3, 64, 64)), "trace")


@program("geffnet", "packaging")
def mixnet():
    import geffnet

    return Case(geffnet.create_model("mixnet_s", pretrained=False, scriptable=True), pictures((1, 3, 64, 64)))


@program("geffnet", "packaging")
def mobilenetv3():
    import geffnet

    return Case(geffnet.create_model("mobilenetv3_small_100", pretrained=False, scriptable=True), pictures((2, 3, 64, 48)))


@program("pytorchcv", "requests", "urllib3", "idna", "certifi", "charset-normalizer")
def shufflenet():
    from pytorchcv.model_provider import get_model

    return Case(get_model("shufflenetv2_wd2", pretrained=False), pictures((1, 3, 224, 224)))


@program("pytorchcv", "requests", "urllib3", "idna", "certifi", "charset-normalizer")
def hrnet():
    from pytorchcv.model_provider import get_model

    return Case(get_model("hrnet_w18_small_v1", pretrained=False), pictures((1, 3, 64, 64)), "trace")


@program("pytorchcv", "requests", "urllib3", "idna", "certifi", "charset-normalizer")
def pyramid_network():
    from pytorchcv.model_provider import get_model

    return Case(get_model("dla34", pretrained=False), pictures((1, 3, 64, 64)), "trace")


@program("segmentation-models-pytorch", "timm", "huggingface_hub", "safetensors", "tqdm", "pyyaml", "packaging", "pillow")
def unet():
    import segmentation_models_pytorch as smp

    return Case(smp.Unet("resnet18", encoder_weights=None, classes=3), pictures((1, 3, 64, 64)), "trace")


@program("segmentation-models-pytorch", "timm", "huggingface_hub", "safetensors", "tqdm", "pyyaml", "packaging", "pillow")
def deeplab():
    import segmentation_models_pytorch as smp

    return Case(smp.DeepLabV3Plus("resnet18", encoder_weights=None, classes=2), pictures((1, 3, 64, 64)), "trace")


@program("vit-pytorch", "einops")
def vit():
    from vit_pytorch import ViT

    return Case(ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=48), pictures((2, 3, 32, 32)), "trace")


@program("vit-pytorch", "einops")
def cct():
    from vit_pytorch.cct import CCT

    return Case(CCT(img_size=(32, 32), embedding_dim=32, n_conv_layers=2, kernel_size=3, stride=1, padding=1, pooling_kernel_size=3,
                    pooling_stride=2, pooling_padding=1, num_layers=2, num_heads=4, mlp_ratio=2., num_classes=5,
                    positional_embedding="learnable"), pictures((2, 3, 32, 32)), "trace")


@program("mlp-mixer-pytorch", "einops")
def mixer():
    from mlp_mixer_pytorch import MLPMixer

    return Case(MLPMixer(image_size=32, channels=3, patch_size=8, dim=24, depth=2, num_classes=5), pictures((2, 3, 32, 32)), "script")


@program("monai")
def monai_unet():
    from monai.networks.nets import UNet

    return Case(UNet(3, 1, 2, (4, 8, 16), (2, 2), num_res_units=2), [(torch.randn(1, 1, 16, 16, 16),)])


@program("monai")
def monai_densenet():
    from monai.networks.nets import DenseNet121

    return Case(DenseNet121(2, 1, 3), pictures((1, 1, 64, 64)))


@program("monai")
def monai_segresnet():
    from monai.networks.nets import SegResNet

    return Case(SegResNet(spatial_dims=3, init_filters=8, in_channels=1, out_channels=2), [(torch.randn(1, 1, 16, 16, 16),)])


@program("monai")
def monai_vnet():
    from monai.networks.nets import VNet

    return Case(VNet(spatial_dims=3, in_channels=1, out_channels=2), [(torch.randn(1, 1, 32, 32, 32),)])


@program("monai")
def monai_dynunet():
    from monai.networks.nets import DynUNet

    return Case(DynUNet(2, 1, 2, [3, 3, 3], [1, 2, 2], [2, 2], res_block=True), pictures((1, 1, 32, 32)))


@program("monai")
def monai_attention_unet():
    from monai.networks.nets import AttentionUnet

    return Case(AttentionUnet(2, 1, 2, (4, 8, 16), (2, 2)), pictures((1, 1, 32, 32)))


@program("facenet-pytorch", "requests", "pillow", "urllib3", "idna", "certifi", "charset-normalizer")
def inception_resnet():
    from facenet_pytorch import InceptionResnetV1

    return Case(InceptionResnetV1(pretrained=None), pictures((1, 3, 96, 96)))
