"""What of the collection is not accurate yet, by what is missing: each must be told when it is."""

NOT_YET = {
    "products, quotients and squares overflow before a logarithm or root brings them back": """
        logsumexp: power mean [value gradient product]
        products: logarithm of a cumulative product [value gradient]
        products: root of a product [value gradient]
        products: quotient of products [value gradient product]
        recursion: hidden Markov model [value gradient]
        contrast: Cauchy loss, huge [value gradient]
        contrast: Geman-McClure [value]
        logarithmic: log of a square [value gradient product]
        logarithmic: log of a quotient [value gradient]
        logarithmic: log of a root of a sum [product]
        norm: logarithm of a norm [value gradient]
        norm: norm cubed and back [value gradient]
        norm: clipping by the norm [gradient]
        norm: complex division [value gradient]
        statistics: kurtosis, huge [value gradient]
        linear algebra: root of a determinant [value gradient]
        linear algebra: quadratic form over a norm [value gradient]
        density: Cauchy [value]
        density: Student [value gradient]
        physics: Nernst [value gradient]
        physics: lens combination [gradient]
        models: Hill function [value gradient]
        models: log-logistic survival [value gradient]
    """,
    "logarithms of powers and of scales are not taken apart where a factor underflows": """
        density: Dirichlet [value gradient product]
        density: Gaussian with log-scale [value gradient product]
    """,
    "powers with a number as base, and roots, of exponentials": """
        softmax: base 2 [value gradient product]
        logsumexp: log base 2 of sums [value gradient product]
        logsumexp: log10 of sums [value gradient product]
        logsumexp: root of a sum of exponentials [value]
        exponential: power of an exponential [value]
        models: Elo expectation [gradient]
    """,
    "one minus the largest of several probabilities": """
        cross entropy: Brier score [value gradient product]
        cross entropy: logsumexp less the logit [value gradient]
        recursion: random field likelihood [gradient]
        models: Cox partial likelihood [value]
        models: hierarchical softmax [gradient]
        models: two of three, confident [value gradient]
        models: noisy-or [value]
    """,
    "functions of an exponential that dwarfs the rest of their operand": """
        logarithm of a difference: logarithm of expm1 [value gradient product]
        logarithm of a difference: interval of a logistic [value gradient product]
        logarithm of a difference: inverse softplus [value gradient product]
        sigmoid: quotient of sigmoids [value gradient product]
        sigmoid: logistic growth [value gradient]
        softplus: logarithm of softplus [value gradient product]
        hyperbolic: log sinh [value gradient product]
        hyperbolic: ratio of sinhs [value gradient product]
        models: ordinal regression [value]
        models: ordinal regression, to the cuts [value]
        models: discretised logistic [value gradient]
        models: complementary log-log [value]
        models: soft threshold [value]
    """,
    "quotients and differences of numbers that are nearly equal, inside a function": """
        logarithmic: log of a ratio near 1 [value]
        logarithmic: log over x less one [gradient product]
        logarithmic: logarithmic mean [gradient]
        entropy: KL of Poissons [value gradient]
        entropy: divergence of Itakura and Saito [value]
        physics: relativistic Doppler [value]
        finance: log return [value]
        finance: simple return [value]
    """,
    "remainders of exponentials and powers with a parameter or an offset": """
        softplus: softplus, to the sharpness [gradient product]
        exponential: Box-Cox [gradient]
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
        finite differences: second difference of exp [value gradient]
        finite differences: second difference of cosine [value gradient]
        statistics: weighted variance [value gradient]
        geometry: law of cosines [value gradient]
        geometry: angle of vectors [value]
        geometry: pairs of distances [value]
        geometry: Gaussian kernel [value gradient]
        geometry: one minus cosine [value]
        geometry: sagitta [value]
    """,
    "tails of special functions": """
        density: normal tail [value gradient]
        density: Mills ratio [value gradient]
        density: log beta function [value]
    """,
    "other": """
        exponential: exp of a logarithm [value gradient product]
        physics: Arrhenius ratio [value]
    """,
}
