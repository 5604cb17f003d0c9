"""The layers that backbones, necks and heads are made of."""
