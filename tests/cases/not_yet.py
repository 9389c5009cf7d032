"""What of the collection is not accurate yet, by what is missing: each must be told when it is."""

NOT_YET = {
    "one minus the largest of several probabilities": """
        models: hierarchical softmax [gradient]
    """,
}
