// torchvision's operators for Sconce; the registry loads them when a program calls torchvision::nms, roi_align,
// deform_conv2d, ...
#include "common.h"

SCONCE_LIBRARY(torchvision, m) {
  using namespace torchvision;
  m.def("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        "The boxes that stay, best first, when every box that overlaps a better one by more than iou_threshold goes.");
  m.impl("nms", Key::cpu, &nms_cpu);
  m.meta("nms", &nms_meta);
  m.def(
      "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
      "Intersection over union of each box of the first list, [N, 5] as x, y, width, height, degrees, and each of the "
      "second.");
  m.impl("box_iou_rotated", Key::cpu, &box_iou_rotated_cpu);
  m.meta("box_iou_rotated", &box_iou_rotated_meta);

  m.def(
      "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
      "sampling_ratio, "
      "bool aligned) -> Tensor",
      "The mean of bilinear samples in each bin of each region of interest.");
  m.def(
      "_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
      "SymInt "
      "batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, bool aligned) -> Tensor");
  m.impl("roi_align", Key::cpu, &roi_align_cpu);
  m.meta("roi_align", &roi_align_meta);
  m.impl("_roi_align_backward", Key::cpu, &roi_align_backward_cpu);
  m.meta("_roi_align_backward", &roi_align_backward_meta);
  m.derivative(
      "roi_align",
      "input: torch.ops.torchvision._roi_align_backward(grad, rois, spatial_scale, pooled_height, pooled_width, "
      "input.size(0), input.size(1), input.size(2), input.size(3), sampling_ratio, aligned)");

  m.def(
      "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, "
      "Tensor)",
      "The largest element of each bin of each region of interest, and its place.");
  m.def(
      "_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt pooled_height, SymInt "
      "pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor");
  m.impl("roi_pool", Key::cpu, &roi_pool_cpu);
  m.meta("roi_pool", &roi_pool_meta);
  m.impl("_roi_pool_backward", Key::cpu, &roi_pool_backward_cpu);
  m.meta("_roi_pool_backward", &roi_pool_backward_meta);
  m.derivative("roi_pool",
               "input: torch.ops.torchvision._roi_pool_backward(grads[0], rois, result1, spatial_scale, pooled_height, "
               "pooled_width, input.size(0), input.size(1), input.size(2), input.size(3))");

  m.def(
      "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
      "sampling_ratio) -> (Tensor, Tensor)",
      "roi_align where every bin has channels of its own; also which channel each result came from.");
  m.def(
      "_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt "
      "pooled_height, "
      "SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> "
      "Tensor");
  m.impl("ps_roi_align", Key::cpu, &ps_roi_align_cpu);
  m.meta("ps_roi_align", &ps_roi_align_meta);
  m.impl("_ps_roi_align_backward", Key::cpu, &ps_roi_align_backward_cpu);
  m.meta("_ps_roi_align_backward", &ps_roi_align_backward_meta);
  m.derivative(
      "ps_roi_align",
      "input: torch.ops.torchvision._ps_roi_align_backward(grads[0], rois, result1, spatial_scale, pooled_height, "
      "pooled_width, sampling_ratio, input.size(0), input.size(1), input.size(2), input.size(3))");

  m.def(
      "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> "
      "(Tensor, Tensor)",
      "The mean of each bin of each region, every bin having channels of its own; also which channel each came from.");
  m.def(
      "_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt "
      "pooled_height, "
      "SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor");
  m.impl("ps_roi_pool", Key::cpu, &ps_roi_pool_cpu);
  m.meta("ps_roi_pool", &ps_roi_pool_meta);
  m.impl("_ps_roi_pool_backward", Key::cpu, &ps_roi_pool_backward_cpu);
  m.meta("_ps_roi_pool_backward", &ps_roi_pool_backward_meta);
  m.derivative(
      "ps_roi_pool",
      "input: torch.ops.torchvision._ps_roi_pool_backward(grads[0], rois, result1, spatial_scale, pooled_height, "
      "pooled_width, input.size(0), input.size(1), input.size(2), input.size(3))");

  m.def(
      "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt "
      "stride_w, "
      "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool "
      "use_mask) -> "
      "Tensor",
      "Convolution whose taps are moved by `offset` and, with use_mask, weighted by `mask`.");
  m.def(
      "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
      "SymInt "
      "stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
      "SymInt "
      "offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)");
  m.impl("deform_conv2d", Key::cpu, &deform_conv2d_cpu);
  m.meta("deform_conv2d", &deform_conv2d_meta);
  m.impl("_deform_conv2d_backward", Key::cpu, &deform_conv2d_backward_cpu);
  m.meta("_deform_conv2d_backward", &deform_conv2d_backward_meta);
  const std::string backward =
      "torch.ops.torchvision._deform_conv2d_backward(grad, input, weight, offset, mask, bias, stride_h, stride_w, "
      "pad_h, pad_w, "
      "dilation_h, dilation_w, groups, offset_groups, use_mask)";
  m.derivative("deform_conv2d", "input: " + backward + "[0]\nweight: " + backward + "[1]\noffset: " + backward +
                                    "[2]\nmask: " + backward + "[3]\nbias: " + backward + "[4]");
}
