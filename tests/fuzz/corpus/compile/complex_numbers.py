def complex_numbers(a: complex, x: Tensor) -> Tuple[complex, float, Tensor]:
    b = a * 2j + 1
    return b, abs(b), torch.view_as_real(torch.fft.fft(x))
