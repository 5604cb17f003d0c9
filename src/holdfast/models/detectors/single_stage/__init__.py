"""Single-stage detectors: SSD, SSDLite, RetinaNet, EfficientDet."""
