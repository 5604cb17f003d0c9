"""The published weights of a recipe, brought here and proved on its network."""

from __future__ import annotations

from holdfast.checkpoints.zoo.fetch_weights import fetch_weights, find_stored
from holdfast.checkpoints.zoo.find_weights import imagenet_weights
from holdfast.checkpoints.zoo.prove_weights import prove_filling, prove_readable
from holdfast.checkpoints.zoo.weights_cache import StoredWeights
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe import Recipe
from holdfast.progress import Watch, unwatched

_COCO_CLASSES = 90  # the largest id of COCO's label map


def pretrained_checkpoint(
    recipe: Recipe, mirror: str | None = None, watch: Watch = unwatched
) -> str:
    """Give the path of the zoo's checkpoint, or of Keras' weights where the zoo has none."""
    model = recipe_model(recipe, _COCO_CLASSES)
    name = recipe.zoo or imagenet_weights(model).name

    def prove(weights: StoredWeights) -> None:
        prove_readable(weights)
        prove_filling(weights, model, every_class=True)

    known = find_stored(name)
    if known is not None:
        prove(known)  # with another release of Holdfast, the network may be another
        return known.checkpoint
    return fetch_weights(name, mirror=mirror, prove=prove, watch=watch).checkpoint
