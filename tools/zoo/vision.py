"""torchvision: classification, segmentation, detection, video, optical flow; small inputs, the real architectures."""

import torch
import torchvision
from torchvision.models import detection, optical_flow, quantization, segmentation, video

from zoo import Model, images

tv = torchvision.models
small = images((2, 3, 64, 64), (1, 3, 96, 96))


def classifier(name, calls=small, how="script trace", **arguments):
    return Model(lambda: getattr(tv, name)(weights=None, **arguments), calls, how)


LAST_LAYERS = ("cls_logits", "bbox_pred", "cls_score", "bbox_reg", "module_list")


def spread(module, factor, layers=LAST_LAYERS):
    """Random heads give scores that are all alike, or all 1; apart, their order does not hang on the last bit."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("weight") and any(layer in name for layer in layers):
                parameter.mul_(factor)
    return module


# In float64 where the model is such that results in float32 differ between one thread and two in PyTorch itself.
def detector(name, size=96, dtype=torch.float32, factor=1.0, layers=LAST_LAYERS, **arguments):
    calls = lambda: [([torch.rand(3, size, size), torch.rand(3, size, size + 32)],), ([torch.rand(3, size + 16, size)],)]
    build = lambda: spread(getattr(detection, name)(weights=None, weights_backbone=None, num_classes=5, **arguments), factor, layers)
    return Model(build, calls, "script", dtype)


def segmenter(name):
    build = lambda: getattr(segmentation, name)(weights=None, weights_backbone=None, num_classes=5)
    return Model(build, images((1, 3, 64, 64), (2, 3, 64, 96)), "script")


clip = images((1, 3, 16, 32, 32))
near = {"min_size": 96, "max_size": 160}

MODELS = {
    "alexnet": classifier("alexnet", num_classes=10),
    "vgg11_bn": classifier("vgg11_bn", how="script", num_classes=10),
    "resnet18": classifier("resnet18", how="script trace freeze"),
    "resnet50": classifier("resnet50"),
    "resnet18_train": Model(lambda: tv.resnet18(weights=None), small, "script", train=True),
    "resnet18_bfloat16": Model(lambda: tv.resnet18(weights=None), small, "script", torch.bfloat16),
    "resnet18_float16": Model(lambda: tv.resnet18(weights=None), small, "script", torch.float16),
    "resnet18_float64": Model(lambda: tv.resnet18(weights=None), small, "script", torch.float64),
    "resnext50_32x4d": classifier("resnext50_32x4d", how="script"),
    "wide_resnet50_2": classifier("wide_resnet50_2", how="script"),
    "densenet121": classifier("densenet121"),
    "inception_v3": classifier("inception_v3", images((2, 3, 96, 96)), init_weights=False, num_classes=10),
    "googlenet": classifier("googlenet", init_weights=False, num_classes=10),
    "squeezenet1_0": classifier("squeezenet1_0"),
    "mobilenet_v2": classifier("mobilenet_v2", how="script trace freeze"),
    "mobilenet_v2_train": Model(lambda: tv.mobilenet_v2(weights=None, dropout=0.0), small, "script", train=True),
    "mobilenet_v3_small": classifier("mobilenet_v3_small"),
    "mobilenet_v3_large": classifier("mobilenet_v3_large", how="script trace freeze"),
    "mobilenet_v3_small_bfloat16": Model(lambda: tv.mobilenet_v3_small(weights=None), small, "script", torch.bfloat16),
    "shufflenet_v2_x1_0": classifier("shufflenet_v2_x1_0"),
    "mnasnet0_5": classifier("mnasnet0_5"),
    "efficientnet_b0": classifier("efficientnet_b0", how="script trace freeze"),
    "efficientnet_v2_s": classifier("efficientnet_v2_s", how="script"),
    "regnet_y_400mf": classifier("regnet_y_400mf"),
    "regnet_x_400mf": classifier("regnet_x_400mf", how="script"),
    "convnext_tiny": classifier("convnext_tiny"),
    "vit_b_16": Model(lambda: tv.VisionTransformer(64, 16, 3, 4, 192, 384, num_classes=10), images((2, 3, 64, 64)),
                      "script trace freeze"),
    "vit_bfloat16": Model(lambda: tv.VisionTransformer(64, 16, 3, 4, 192, 384, num_classes=10), images((2, 3, 64, 64)),
                          "script", torch.bfloat16),
    "swin_t": classifier("swin_t"),
    "swin_v2_t": classifier("swin_v2_t"),
    "maxvit_t": Model(lambda: tv.MaxVit((64, 64), 16, 4, [16, 32], [1, 2], 16, 0.2, num_classes=10),
                      images((2, 3, 64, 64))),
    "fcn_resnet50": segmenter("fcn_resnet50"),
    "deeplabv3_resnet50": segmenter("deeplabv3_resnet50"),
    "deeplabv3_mobilenet_v3_large": segmenter("deeplabv3_mobilenet_v3_large"),
    "lraspp_mobilenet_v3_large": segmenter("lraspp_mobilenet_v3_large"),
    "fasterrcnn_resnet50_fpn": detector("fasterrcnn_resnet50_fpn", **near),
    "fasterrcnn_resnet50_fpn_v2": detector("fasterrcnn_resnet50_fpn_v2", **near),
    "fasterrcnn_mobilenet_v3_large_320_fpn": detector("fasterrcnn_mobilenet_v3_large_320_fpn", factor=1e5, layers=["inner_blocks"], dtype=torch.float64),
    "maskrcnn_resnet50_fpn": detector("maskrcnn_resnet50_fpn", dtype=torch.float64, box_detections_per_img=10, **near),
    "keypointrcnn_resnet50_fpn": detector("keypointrcnn_resnet50_fpn", factor=0.3, box_detections_per_img=10, **near),
    "retinanet_resnet50_fpn": detector("retinanet_resnet50_fpn", dtype=torch.float64, factor=30.0, **near),
    "ssd300_vgg16": detector("ssd300_vgg16", factor=0.2, size=160),
    "ssdlite320_mobilenet_v3_large": detector("ssdlite320_mobilenet_v3_large", factor=1e5, size=160),
    "fcos_resnet50_fpn": detector("fcos_resnet50_fpn", factor=4.0, **near),
    "r3d_18": Model(lambda: video.r3d_18(weights=None), clip, "script"),
    "mc3_18": Model(lambda: video.mc3_18(weights=None), clip, "script"),
    "r2plus1d_18": Model(lambda: video.r2plus1d_18(weights=None), clip),
    "s3d": Model(lambda: video.s3d(weights=None), images((1, 3, 16, 224, 224)), "script"),
    "mvit_v1_b": Model(lambda: video.mvit_v1_b(weights=None), images((1, 3, 16, 224, 224)), "script"),
    "swin3d_t": Model(lambda: video.swin3d_t(weights=None), images((1, 3, 8, 64, 64)), "script"),
    "raft_small": Model(lambda: optical_flow.raft_small(weights=None),
                        lambda: [(torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128), 3)], "script"),
    "quantizable_mobilenet_v2": Model(lambda: quantization.mobilenet_v2(weights=None), small, "script"),
    "quantizable_resnet18": Model(lambda: quantization.resnet18(weights=None), small, "script"),
    "quantizable_googlenet": Model(lambda: quantization.googlenet(weights=None, init_weights=False), small, "script"),
    "transforms": Model(
        lambda: torch.nn.Sequential(torchvision.transforms.Resize([48, 56], antialias=True),
                                    torchvision.transforms.CenterCrop(32), torchvision.transforms.Pad([2, 1]),
                                    torchvision.transforms.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.2]),
                                    torchvision.transforms.Grayscale(3), torchvision.transforms.GaussianBlur(3, (1.0, 1.0))),
        small, "script"),
}
