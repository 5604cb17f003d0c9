"""What recipes write into a config: anchors and augmentations, each with its comment."""

SSD_ANCHORS = """\
# Anchors from a tenth of the image on the finest map to nearly all of it on the coarsest.
anchor_generator {
  ssd_anchor_generator {
    num_layers: 6
    min_scale: 0.2
    max_scale: 0.95
    aspect_ratios: [1.0, 2.0, 0.5, 3.0, 0.3333]
  }
}"""
PYRAMID_ANCHORS = """\
# Anchors of 4 and 5.7 strides: 32 to 724 pixels, in three shapes.
anchor_generator {
  multiscale_anchor_generator {
    min_level: 3
    max_level: 7
    anchor_scale: 4.0
    scales_per_octave: 2
    aspect_ratios: [1.0, 2.0, 0.5]
  }
}"""
DENSE_PYRAMID_ANCHORS = PYRAMID_ANCHORS.replace(
    "4 and 5.7 strides: 32 to 724", "4, 5 and 6.3 strides: 32 to 813"
).replace("scales_per_octave: 2", "scales_per_octave: 3")
GRID_ANCHORS = """\
# Anchors of 64 to 512 pixels, in three shapes.
first_stage_anchor_generator {
  grid_anchor_generator {
    height_stride: 16
    width_stride: 16
    scales: [0.25, 0.5, 1.0, 2.0]
    aspect_ratios: [0.5, 1.0, 2.0]
  }
}"""
HALF_CROP = """\
  # Cut up to half of the image off, in two of three images. (Published with the crops of the SSD
  # paper, which cut more, and need more steps.)
  data_augmentation_options {
    random_crop_image {
      min_object_covered: 0.0
      min_aspect_ratio: 0.75
      max_aspect_ratio: 3.0
      min_area: 0.5
      max_area: 1.0
      overlap_thresh: 0.5
      random_coef: 0.3
    }
  }"""
LIGHT_CROP = """\
  # Cut up to a quarter of the image off.
  data_augmentation_options {
    random_crop_image {
      min_object_covered: 0.0
      min_aspect_ratio: 0.75
      max_aspect_ratio: 3.0
      min_area: 0.75
      max_area: 1.0
      overlap_thresh: 0.0
    }
  }"""
SCALE_JITTER = """\
  # Half to double size. The published 0.1 to 2.0 pays off in hundreds of epochs only.
  data_augmentation_options {
    random_scale_crop_and_pad_to_square { output_size: ${input_size} scale_min: 0.5 scale_max: 2.0 }
  }"""
ONLY_FLIPS = "  # (Published with mirrored images alone.)"
