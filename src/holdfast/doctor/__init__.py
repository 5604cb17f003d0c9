"""Why a training does not learn: findings about configs, data, machines and runs."""
