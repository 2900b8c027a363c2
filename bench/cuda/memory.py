"""python bench/cuda/memory.py [torch] [channels_last]: the peak of device memory, and the milliseconds, of a training step of ResNet-50
on 64 pictures, SGD with momentum, in float32 with TF32 and in bfloat16, by Sconce or by PyTorch."""
import sys
import time

if "torch" in sys.argv[1:]:
    import torch
else:
    import sconce as torch
nn = torch.nn


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or channels != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += identity
        return self.relu(out)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        blocks, channels = [], 64
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(count):
                width = 64 << stage
                blocks.append(Bottleneck(channels, width, 2 if stage > 0 and i == 0 else 1))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(2048, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.blocks(x)), 1))


torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
for dtype in (torch.float32, torch.bfloat16):
    torch.manual_seed(0)
    model = ResNet50().cuda().to(dtype)
    x, target = torch.randn(64, 3, 224, 224).cuda().to(dtype), torch.randint(0, 1000, (64,)).cuda()
    if "channels_last" in sys.argv[1:]:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    times = []
    for i in range(10):
        if i == 2:
            torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    print(f"{str(dtype):15} peak {torch.cuda.max_memory_allocated() / 1e9:.3f} GB, {1e3 * sorted(times[2:])[4]:.1f} ms, loss {loss.item():.6f}",
          flush=True)
    del model, optimizer, loss, x
    torch.cuda.empty_cache()
