"""What of the collection is not accurate yet, by what is missing: each must be told when it is."""

NOT_YET = {
    "products, quotients and squares overflow before a logarithm or root brings them back": """
        physics: Nernst [value]
    """,
    "one minus the largest of several probabilities": """
        recursion: random field likelihood [gradient]
        models: Cox partial likelihood [value]
        models: hierarchical softmax [gradient]
        models: two of three, confident [value gradient]
        models: noisy-or [value]
    """,
    "functions of an exponential that dwarfs the rest of their operand": """
        models: ordinal regression [value]
        models: ordinal regression, to the cuts [value]
        models: discretised logistic [value gradient]
        models: complementary log-log [value]
        models: soft threshold [value]
    """,
    "quotients and differences of numbers that are nearly equal, inside a function": """
        entropy: KL of Poissons [value gradient]
        physics: relativistic Doppler [value]
        finance: log return [value]
        finance: simple return [value]
    """,
    "remainders of exponentials and powers with a parameter or an offset": """
        density: Student, to the freedom [gradient product]
        physics: Bose function, to the temperature [product]
        physics: Einstein heat [gradient]
        physics: Hodgkin-Huxley rate [value gradient]
        physics: harmonic near the minimum [value]
        physics: attenuation [gradient product]
        physics: optical depth of a slab [value]
        finance: effective rate, to the periods [gradient]
        finance: future value by exponentials [gradient]
        finance: Nelson-Siegel [value]
        finance: power utility [gradient]
        models: Tsallis entropy [value]
        models: Poisson tail [value]
    """,
    "expanded squares of differences": """
        logsumexp: variance of exponentials, in logs [value]
        roots: square of a sum less the squares [gradient]
        statistics: weighted variance [value gradient]
        geometry: angle of vectors [value]
        geometry: pairs of distances [value]
        geometry: Gaussian kernel [value gradient]
        geometry: one minus cosine [value]
        geometry: sagitta [value]
    """,
    "tails of special functions": """
        density: Mills ratio [value gradient]
        density: log beta function [value]
    """,
    "other": """
        exponential: exp of a logarithm [value gradient product]
        physics: Arrhenius ratio [value]
    """,
}
