"""Doubled arithmetic: programs computed to twice the precision of floats, with bounds of what is wrong."""

from relgrad.kernels.doubled import arrays as arrays
from relgrad.kernels.doubled.named import computed as computed
from relgrad.kernels.doubled.named import given as given
from relgrad.kernels.doubled.named import rounded as rounded
from relgrad.kernels.doubled.named import tied as tied
from relgrad.kernels.doubled.precise import cancels as cancels
from relgrad.kernels.doubled.precise import cancels_at as cancels_at
from relgrad.kernels.doubled.precise import exponents_cancel as exponents_cancel
from relgrad.kernels.doubled.precise import exponents_cancel_at as exponents_cancel_at
from relgrad.kernels.doubled.precise import ill_conditioned as ill_conditioned
from relgrad.kernels.doubled.precise import lost as lost
from relgrad.kernels.doubled.precise import mixture_cancels as mixture_cancels
from relgrad.kernels.doubled.precise import precise as precise
from relgrad.kernels.doubled.precise import product_cancels as product_cancels
from relgrad.kernels.doubled.precise import sum_cancels as sum_cancels
from relgrad.kernels.doubled.precise import ties as ties
from relgrad.kernels.doubled.precise import turns as turns
from relgrad.kernels.doubled.precise import turns_at as turns_at
from relgrad.kernels.doubled.precise import wider as wider
