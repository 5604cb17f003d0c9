"""Data augmentation steps, one message per step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from holdfast.config.schema.message import Message, OneOfs
from holdfast.config.schema.ssd_random_crop import (
    SSDRandomCrop,
    SSDRandomCropFixedAspectRatio,
    SSDRandomCropPad,
    SSDRandomCropPadFixedAspectRatio,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class PreprocessingStep(Message):
    """Exactly one augmentation."""

    oneofs: ClassVar[OneOfs] = {
        "preprocessing_step": (
            "normalize_image",
            "random_horizontal_flip",
            "random_pixel_value_scale",
            "random_image_scale",
            "random_rgb_to_gray",
            "random_adjust_brightness",
            "random_adjust_contrast",
            "random_adjust_hue",
            "random_adjust_saturation",
            "random_distort_color",
            "random_jitter_boxes",
            "random_crop_image",
            "random_pad_image",
            "random_crop_pad_image",
            "random_crop_to_aspect_ratio",
            "random_black_patches",
            "random_resize_method",
            "scale_boxes_to_pixel_coordinates",
            "resize_image",
            "subtract_channel_mean",
            "ssd_random_crop",
            "ssd_random_crop_pad",
            "ssd_random_crop_fixed_aspect_ratio",
            "ssd_random_crop_pad_fixed_aspect_ratio",
            "random_vertical_flip",
            "random_rotation90",
            "rgb_to_gray",
            "convert_class_logits_to_softmax",
            "random_absolute_pad_image",
            "random_self_concat_image",
            "autoaugment_image",
            "drop_label_probabilistically",
            "remap_labels",
            "random_jpeg_quality",
            "random_downscale_to_target_pixels",
            "random_patch_gaussian",
            "random_square_crop_by_scale",
            "random_scale_crop_and_pad_to_square",
            "adjust_gamma",
        ),
    }

    normalize_image: NormalizeImage | None = None
    random_horizontal_flip: RandomHorizontalFlip | None = None
    random_pixel_value_scale: RandomPixelValueScale | None = None
    random_image_scale: RandomImageScale | None = None
    random_rgb_to_gray: RandomRGBtoGray | None = None
    random_adjust_brightness: RandomAdjustBrightness | None = None
    random_adjust_contrast: RandomAdjustContrast | None = None
    random_adjust_hue: RandomAdjustHue | None = None
    random_adjust_saturation: RandomAdjustSaturation | None = None
    random_distort_color: RandomDistortColor | None = None
    random_jitter_boxes: RandomJitterBoxes | None = None
    random_crop_image: RandomCropImage | None = None
    random_pad_image: RandomPadImage | None = None
    random_crop_pad_image: RandomCropPadImage | None = None
    random_crop_to_aspect_ratio: RandomCropToAspectRatio | None = None
    random_black_patches: RandomBlackPatches | None = None
    random_resize_method: RandomResizeMethod | None = None
    scale_boxes_to_pixel_coordinates: ScaleBoxesToPixelCoordinates | None = None
    resize_image: ResizeImage | None = None
    subtract_channel_mean: SubtractChannelMean | None = None
    ssd_random_crop: SSDRandomCrop | None = None
    ssd_random_crop_pad: SSDRandomCropPad | None = None
    ssd_random_crop_fixed_aspect_ratio: SSDRandomCropFixedAspectRatio | None = None
    ssd_random_crop_pad_fixed_aspect_ratio: SSDRandomCropPadFixedAspectRatio | None = None
    random_vertical_flip: RandomVerticalFlip | None = None
    random_rotation90: RandomRotation90 | None = None
    rgb_to_gray: RGBtoGray | None = None
    convert_class_logits_to_softmax: ConvertClassLogitsToSoftmax | None = None
    random_absolute_pad_image: RandomAbsolutePadImage | None = None
    random_self_concat_image: RandomSelfConcatImage | None = None
    autoaugment_image: AutoAugmentImage | None = None
    drop_label_probabilistically: DropLabelProbabilistically | None = None
    remap_labels: RemapLabels | None = None
    random_jpeg_quality: RandomJpegQuality | None = None
    random_downscale_to_target_pixels: RandomDownscaleToTargetPixels | None = None
    random_patch_gaussian: RandomPatchGaussian | None = None
    random_square_crop_by_scale: RandomSquareCropByScale | None = None
    random_scale_crop_and_pad_to_square: RandomScaleCropAndPadToSquare | None = None
    adjust_gamma: AdjustGamma | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class NormalizeImage(Message):
    """Map pixel values from one range to another."""

    original_minval: float = 0.0
    original_maxval: float = 0.0
    target_minval: float = 0.0
    target_maxval: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomHorizontalFlip(Message):
    """Mirror left and right."""

    keypoint_flip_permutation: tuple[int, ...] = ()
    probability: float = 0.5


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomVerticalFlip(Message):
    """Mirror top and bottom."""

    keypoint_flip_permutation: tuple[int, ...] = ()
    probability: float = 0.5


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomRotation90(Message):
    """Turn by a quarter."""

    keypoint_rot_permutation: tuple[int, ...] = ()
    probability: float = 0.5


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomPixelValueScale(Message):
    """Multiply every pixel by its own random factor."""

    minval: float = 0.9
    maxval: float = 1.1


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomImageScale(Message):
    """Enlarge or shrink the image, aspect ratio kept."""

    min_scale_ratio: float = 0.5
    max_scale_ratio: float = 2.0


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomRGBtoGray(Message):
    """Turn to gray, three channels kept."""

    probability: float = 0.1


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomAdjustBrightness(Message):
    """Shift the brightness."""

    max_delta: float = 0.2


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomAdjustContrast(Message):
    """Stretch the contrast."""

    min_delta: float = 0.8
    max_delta: float = 1.25


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomAdjustHue(Message):
    """Turn the hue."""

    max_delta: float = 0.02


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomAdjustSaturation(Message):
    """Scale the saturation."""

    min_delta: float = 0.8
    max_delta: float = 1.25


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomDistortColor(Message):
    """Brightness, saturation, hue and contrast in a fixed order."""

    color_ordering: int = 0


class JitterMode(IntEnum):
    """In which direction boxes are jittered."""

    DEFAULT = 0
    EXPAND = 1
    SHRINK = 2
    EXPAND_SYMMETRIC = 4
    SHRINK_SYMMETRIC = 5
    EXPAND_SYMMETRIC_XY = 6
    SHRINK_SYMMETRIC_XY = 7


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomJitterBoxes(Message):
    """Move box corners by a fraction of the box size."""

    ratio: float = 0.05
    jitter_mode: JitterMode = JitterMode.DEFAULT


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomCropImage(Message):
    """Crop a window that covers enough of some box."""

    min_object_covered: float = 1.0
    min_aspect_ratio: float = 0.75
    max_aspect_ratio: float = 1.33
    min_area: float = 0.1
    max_area: float = 1.0
    overlap_thresh: float = 0.3
    clip_boxes: bool = True
    random_coef: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomPadImage(Message):
    """Put the image on a larger canvas."""

    min_image_height: int = 0
    min_image_width: int = 0
    max_image_height: int = 0
    max_image_width: int = 0
    pad_color: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomAbsolutePadImage(Message):
    """Pad by up to a number of pixels."""

    max_height_padding: int = 0
    max_width_padding: int = 0
    pad_color: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomCropPadImage(Message):
    """Crop, then pad."""

    min_object_covered: float = 1.0
    min_aspect_ratio: float = 0.75
    max_aspect_ratio: float = 1.33
    min_area: float = 0.1
    max_area: float = 1.0
    overlap_thresh: float = 0.3
    clip_boxes: bool = True
    random_coef: float = 0.0
    min_padded_size_ratio: tuple[float, ...] = ()
    max_padded_size_ratio: tuple[float, ...] = ()
    pad_color: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomCropToAspectRatio(Message):
    """Crop to an aspect ratio."""

    aspect_ratio: float = 1.0
    overlap_thresh: float = 0.3
    clip_boxes: bool = True


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomBlackPatches(Message):
    """Black out random squares."""

    max_black_patches: int = 10
    probability: float = 0.5
    size_to_image_ratio: float = 0.1


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomResizeMethod(Message):
    """Resize with a random interpolation."""

    target_height: int = 0
    target_width: int = 0


@dataclass(frozen=True, kw_only=True, repr=False)
class RGBtoGray(Message):
    """Turn to one gray channel."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ScaleBoxesToPixelCoordinates(Message):
    """Boxes from normalized to pixel coordinates."""


class ResizeMethod(IntEnum):
    """The interpolation of ResizeImage."""

    AREA = 1
    BICUBIC = 2
    BILINEAR = 3
    NEAREST_NEIGHBOR = 4


@dataclass(frozen=True, kw_only=True, repr=False)
class ResizeImage(Message):
    """Resize to a fixed shape."""

    new_height: int = 0
    new_width: int = 0
    method: ResizeMethod = ResizeMethod.BILINEAR


@dataclass(frozen=True, kw_only=True, repr=False)
class SubtractChannelMean(Message):
    """Subtract a mean from each channel."""

    means: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class ConvertClassLogitsToSoftmax(Message):
    """Softmax over the multiclass scores of the data."""

    temperature: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomSelfConcatImage(Message):
    """Tile the image with itself."""

    concat_vertical_probability: float = 0.1
    concat_horizontal_probability: float = 0.1


@dataclass(frozen=True, kw_only=True, repr=False)
class AutoAugmentImage(Message):
    """A learned augmentation policy."""

    policy_name: str = "v0"


@dataclass(frozen=True, kw_only=True, repr=False)
class DropLabelProbabilistically(Message):
    """Drop the boxes of one class."""

    label: int = 0
    drop_probability: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class RemapLabels(Message):
    """Give several classes the label of one."""

    original_labels: tuple[int, ...] = ()
    new_label: int = 0


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomJpegQuality(Message):
    """Encode as JPEG of a random quality."""

    random_coef: float = 0.0
    min_jpeg_quality: int = 0
    max_jpeg_quality: int = 100


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomDownscaleToTargetPixels(Message):
    """Shrink to a random number of pixels."""

    random_coef: float = 0.0
    min_target_pixels: int = 300000
    max_target_pixels: int = 500000


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomPatchGaussian(Message):
    """Noise in a random patch."""

    random_coef: float = 0.0
    min_patch_size: int = 1
    max_patch_size: int = 250
    min_gaussian_stddev: float = 0.0
    max_gaussian_stddev: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomSquareCropByScale(Message):
    """The square crop of CenterNet."""

    max_border: int = 128
    scale_min: float = 0.6
    scale_max: float = 1.3
    num_scales: int = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomScaleCropAndPadToSquare(Message):
    """The scale jitter of EfficientDet."""

    output_size: int = 512
    scale_min: float = 0.1
    scale_max: float = 2.0


@dataclass(frozen=True, kw_only=True, repr=False)
class AdjustGamma(Message):
    """Gamma correction."""

    gamma: float = 1.0
    gain: float = 1.0
