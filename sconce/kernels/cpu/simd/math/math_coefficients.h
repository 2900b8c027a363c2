// Minimax coefficients for math.h, lowest power first. Printed by tools/fit_math.py.
#pragma once

namespace sconce::SCONCE_ISA_NAMESPACE {

// (exp(r) - 1 - r) / r^2, |r| < ln(2)/2: relative error 2^-28.2
constexpr float exp_tail_f32[] = {
    0x1.fffffc0000000p-2f, 0x1.55548a0000000p-3f, 0x1.5559160000000p-5f, 0x1.123fc60000000p-7f, 0x1.6a1a720000000p-10f,
};
// (exp(r) - 1 - r) / r^2, |r| < ln(2)/2: relative error 2^-57.8
constexpr double exp_tail_f64[] = {
    0x1.000000000000bp-1,  0x1.55555555554f0p-3,  0x1.555555555024cp-5,  0x1.11111111299c5p-7,  0x1.6c16c1859c3f4p-10,
    0x1.a01a01231dcc3p-13, 0x1.a01995ee42d0cp-16, 0x1.71df2eea09b7dp-19, 0x1.28b16716d1985p-22, 0x1.ad7a9e7385815p-26,
};
// (log(1 + f) - f + f^2/2) / f^3, -1/3 < f < 1/3: relative error 2^-30.1
constexpr float log_tail_f32[] = {
    0x1.5555560000000p-2f,  -0x1.ffff0a0000000p-3f, 0x1.9997740000000p-3f,
    -0x1.5599ec0000000p-3f, 0x1.24f5e40000000p-3f,  -0x1.f36d460000000p-4f,
    0x1.b85bb00000000p-4f,  -0x1.0757e80000000p-3f, 0x1.ec65480000000p-4f,
};
// (2 atanh(s) - 2 s) / s^3 in s^2, s < 1/5: relative error 2^-54.9
constexpr double log_atanh_f64[] = {
    0x1.555555555577fp-1, 0x1.99999998ee583p-2, 0x1.249249b3df59ep-2, 0x1.c71c004269734p-3,
    0x1.747511e71e3c4p-3, 0x1.384f1a0f930a6p-3, 0x1.3adb90fc7edb8p-3,
};
// (2 atanh(s) - 2 s) / s^3 in s^2, s < 1/5: relative error 2^-48.1
constexpr double pow_log_f64[] = {
    0x1.5555555549c5dp-1, 0x1.999999c532397p-2, 0x1.24922dcf953b1p-2,
    0x1.c72c295129193p-3, 0x1.72172200781fcp-3, 0x1.63f76c0289911p-3,
};
// log2(e) (2 atanh(s) - 2 s - 2/3 s^3) / s^5 in s^2, s < 1/5: relative error 2^-74.3
constexpr double pow_tail_f64[] = {
    0x1.2776c50ef9bffp-1, 0x1.a61762a7adc5ap-2, 0x1.484b13d7e8141p-2, 0x1.0c9a84843cd88p-2, 0x1.c68f63a8122eap-3,
    0x1.89f125d770889p-3, 0x1.5bea5641d58ecp-3, 0x1.3119be69a679bp-3, 0x1.574a87f2a637dp-3,
};
// (exp(r) - 1 - r) / r^2, |r| < ln(2)/2: relative error 2^-39.5
constexpr double pow_exp_f64[] = {
    0x1.00000000659b4p-1,  0x1.555555804669dp-3,  0x1.5555540b75921p-5,  0x1.11109df1ae73ap-7,
    0x1.6c18e862e6681p-10, 0x1.a18c9533508f2p-13, 0x1.9e814b9201377p-16,
};
// (tanh(x) - x) / x^3 in x^2, x < 0.6: relative error 2^-33.3
constexpr float tanh_small_f32[] = {
    -0x1.5555540000000p-2f, 0x1.11109c0000000p-3f,  -0x1.b9f9e60000000p-5f,
    0x1.6411ae0000000p-6f,  -0x1.0ec11e0000000p-7f, 0x1.23e5920000000p-9f,
};
// (tanh(x) - x) / x^3 in x^2, x < 0.6: relative error 2^-62.6
constexpr double tanh_small_f64[] = {
    -0x1.5555555555554p-2,  0x1.1111111110edap-3,  -0x1.ba1ba1b9f6f15p-5,  0x1.664f487934492p-6,
    -0x1.226e33e8a20a5p-7,  0x1.d6d387e2bfb8ap-9,  -0x1.7d9e9e6194627p-10, 0x1.35214514b814ep-11,
    -0x1.f2141abbfb196p-13, 0x1.83d9a730beabcp-14, -0x1.0561fd196a893p-15, 0x1.b3d9335f608f6p-18,
};
// erf(x) / x - 1 in x^2, x < 0.93: relative error 2^-59.4
constexpr double erf_small_f64[] = {
    0x1.06eba8214db68p-3,  -0x1.812746b0379dep-2,  0x1.ce2f21a042452p-4,  -0x1.b82ce312604bep-6,
    0x1.565bcd076cb08p-8,  -0x1.c02db291f5226p-11, 0x1.f9a2f74faedf2p-14, -0x1.f4ce435141be6p-17,
    0x1.b9aa56cc94926p-20, -0x1.5d226da098a3dp-23, 0x1.df70554b7c202p-27, -0x1.c6c82382e5d43p-31,
};
// erf(x) in x - 0.5625 k, k = 0 ... 7 (without x for k = 0), by power; twice
constexpr float erf_step = 0.5625f;
alignas(64) constexpr float erf_pieces[8][16] = {
    {0x0.0p+0f, 0x1.25b8a80000000p-1f, 0x1.c6dad20000000p-1f, 0x1.f74a6e0000000p-1f, 0x1.ff40480000000p-1f,
     0x1.fff6de0000000p-1f, 0x1.ffffc40000000p-1f, 0x1.0000000000000p+0f, 0x0.0p+0f, 0x1.25b8a80000000p-1f,
     0x1.c6dad20000000p-1f, 0x1.f74a6e0000000p-1f, 0x1.ff40480000000p-1f, 0x1.fff6de0000000p-1f, 0x1.ffffc40000000p-1f,
     0x1.0000000000000p+0f},
    {0x1.06eba80000000p-3f, 0x1.a5074e0000000p-1f, 0x1.45e99a0000000p-2f, 0x1.0bf97e0000000p-4f, 0x1.d4143e0000000p-8f,
     0x1.b23a5c0000000p-12f, 0x1.abe0600000000p-17f, 0x1.bfd5540000000p-23f, 0x1.06eba80000000p-3f,
     0x1.a5074e0000000p-1f, 0x1.45e99a0000000p-2f, 0x1.0bf97e0000000p-4f, 0x1.d4143e0000000p-8f, 0x1.b23a5c0000000p-12f,
     0x1.abe0600000000p-17f, 0x1.bfd5540000000p-23f},
    {-0x1.0732720000000p-25f, -0x1.d9a7960000000p-2f, -0x1.6ea68e0000000p-2f, -0x1.c436440000000p-4f,
     -0x1.0752e20000000p-6f, -0x1.3099f80000000p-10f, -0x1.8017840000000p-15f, -0x1.cb1c9e0000000p-19f,
     -0x1.0732720000000p-25f, -0x1.d9a7960000000p-2f, -0x1.6ea68e0000000p-2f, -0x1.c436440000000p-4f,
     -0x1.0752e20000000p-6f, -0x1.3099f80000000p-10f, -0x1.8017840000000p-15f, -0x1.cb1c9e0000000p-19f},
    {-0x1.8126d40000000p-2f, -0x1.9c419a0000000p-4f, 0x1.4cb4ac0000000p-3f, 0x1.a368960000000p-4f,
     0x1.63eee60000000p-6f, 0x1.0c23f40000000p-9f, 0x1.84575c0000000p-14f, 0x1.180e560000000p-19f,
     -0x1.8126d40000000p-2f, -0x1.9c419a0000000p-4f, 0x1.4cb4ac0000000p-3f, 0x1.a368960000000p-4f,
     0x1.63eee60000000p-6f, 0x1.0c23f40000000p-9f, 0x1.84575c0000000p-14f, 0x1.180e560000000p-19f},
    {-0x1.235e0c0000000p-15f, 0x1.7589f80000000p-3f, 0x1.ca5c800000000p-6f, -0x1.9609980000000p-5f,
     -0x1.37ff840000000p-6f, -0x1.4f28480000000p-9f, -0x1.2e60480000000p-14f, 0x1.03aee80000000p-14f,
     -0x1.235e0c0000000p-15f, 0x1.7589f80000000p-3f, 0x1.ca5c800000000p-6f, -0x1.9609980000000p-5f,
     -0x1.37ff840000000p-6f, -0x1.4f28480000000p-9f, -0x1.2e60480000000p-14f, 0x1.03aee80000000p-14f},
    {0x1.cf8a9a0000000p-4f, -0x1.63c8d40000000p-7f, -0x1.f6b0700000000p-5f, 0x1.68779e0000000p-9f,
     0x1.5d61be0000000p-7f, 0x1.1e91ac0000000p-9f, 0x1.56fecc0000000p-13f, 0x1.6945b80000000p-18f,
     0x1.cf8a9a0000000p-4f, -0x1.63c8d40000000p-7f, -0x1.f6b0700000000p-5f, 0x1.68779e0000000p-9f,
     0x1.5d61be0000000p-7f, 0x1.1e91ac0000000p-9f, 0x1.56fecc0000000p-13f, 0x1.6945b80000000p-18f},
    {-0x1.93f3a80000000p-10f, -0x1.70f5de0000000p-5f, 0x1.e8a7420000000p-7f, 0x1.77e7b60000000p-7f,
     -0x1.95beaa0000000p-9f, -0x1.d984740000000p-11f, -0x1.580e200000000p-11f, -0x1.f8da860000000p-12f,
     -0x1.93f3a80000000p-10f, -0x1.70f5de0000000p-5f, 0x1.e8a7420000000p-7f, 0x1.77e7b60000000p-7f,
     -0x1.95beaa0000000p-9f, -0x1.d984740000000p-11f, -0x1.580e200000000p-11f, -0x1.f8da860000000p-12f},
    {-0x1.86f0b00000000p-6f, 0x1.3e5ee60000000p-7f, 0x1.42f4d00000000p-7f, -0x1.906f000000000p-8f,
     -0x1.845ea40000000p-11f, 0x1.3341c80000000p-11f, 0x1.bc572c0000000p-14f, 0x1.93df400000000p-18f,
     -0x1.86f0b00000000p-6f, 0x1.3e5ee60000000p-7f, 0x1.42f4d00000000p-7f, -0x1.906f000000000p-8f,
     -0x1.845ea40000000p-11f, 0x1.3341c80000000p-11f, 0x1.bc572c0000000p-14f, 0x1.93df400000000p-18f},
};
// 2^r, |r| < 1/2: relative error 2^-23.7
constexpr float erf_exp2_f32[] = {
    0x1.0000020000000p+0f, 0x1.62e4280000000p-1f, 0x1.ebf9180000000p-3f,
    0x1.c6b6e40000000p-5f, 0x1.3d0c520000000p-7f, 0x1.5c092c0000000p-10f,
};
// log(erfc(x)), 0.92 < x < 6: relative error 2^-65.5
constexpr double erf_large_f64[] = {
    0x1.9955bd49f9148p-26,  -0x1.20dd7a2aee9aap+0,  -0x1.45f2c815b8e8ap-1,  -0x1.a4fc677cc3133p-4,
    0x1.39b7e407d1321p-6,   0x1.64139f210dc6ap-13,  -0x1.ac4c8ddca95e9p-10, 0x1.0c13a9dc67287p-11,
    0x1.cbb8f2972ba21p-15,  -0x1.14bf30c1f18bep-13, 0x1.3e3976c708e0ep-14,  -0x1.e6d786b1e4cdep-16,
    0x1.1a9a22b60b9eep-17,  -0x1.0273761a8907ap-19, 0x1.76c14ddf13d96p-22,  -0x1.a9f1031874e5cp-25,
    0x1.70eb34cda4ec9p-28,  -0x1.cd370f24c9bbcp-32, 0x1.7281db2f8801ep-36,  -0x1.02537e5723419p-41,
    -0x1.86a1c3a9a0d19p-47, 0x1.7e69058dc49a6p-51,
};
// exp(x^2) erfc(x) (1 + 2 x) in (x - 3.75) / (x + 3.75), 0 <= x < 10.2: relative error 2^-30.4
constexpr double erfc_ratio_single_f64[] = {
    0x1.3ccda0b63ad13p+0,  -0x1.1f3674847da4ep-3, 0x1.d5f2300f64a50p-9,  0x1.51009d8cbe736p-4,
    -0x1.bda962af5b579p-4, 0x1.7a1f643847c9cp-4,  -0x1.e0bbfd3d2f253p-5, 0x1.cfc3ebf2e3d6ap-6,
    -0x1.423b5a4e22fd7p-7, 0x1.e15ec9258d34bp-10, 0x1.0f41deb1d3538p-11, -0x1.a0760603bc71dp-13,
};
// exp(x^2) erfc(x) (1 + 2 x) in (x - 3.75) / (x + 3.75), 0 <= x < 27.3: relative error 2^-59.3
constexpr double erfc_ratio_f64[] = {
    0x1.3ccda0b5d5dc2p+0,  -0x1.1f367683f89a6p-3,  0x1.d5f2948159730p-9,   0x1.510169d09676ap-4,
    -0x1.bda9309a27cb2p-4, 0x1.7a14188a9b44fp-4,   -0x1.e0d0fa6e25b2ap-5,  0x1.d0b0037d4b7a2p-6,
    -0x1.3f603c2c6b3bdp-7, 0x1.cc3a0e8172ca5p-10,  0x1.33fb1dd442dd7p-12,  -0x1.303fa882dea70p-12,
    0x1.b145309b062ddp-15, 0x1.778d6a2d34727p-16,  -0x1.80126ca331ec1p-17, -0x1.05c83cf5050dcp-20,
    0x1.d73223b8032b1p-20, -0x1.cb0d03d588e8fp-25, -0x1.19d9d592b3258p-22, 0x1.374b4a6300ab3p-26,
    0x1.5b2ff86f0f27ap-25, 0x1.1a148a9273456p-33,  -0x1.504a0de293786p-28, -0x1.002b2860ed301p-30,
};
// (sin(x) - x) / x^3 in x^2, x < pi/4: relative error 2^-37.4
constexpr float sin_tail_f32[] = {
    -0x1.5555560000000p-3f,
    0x1.1111080000000p-7f,
    -0x1.a00f120000000p-13f,
    0x1.6cb8040000000p-19f,
};
// (sin(x) - x) / x^3 in x^2, x < pi/4: relative error 2^-68.5
constexpr double sin_tail_f64[] = {
    -0x1.5555555555555p-3,  0x1.111111111110ap-7,  -0x1.a01a01a018826p-13, 0x1.71de3a5301075p-19,
    -0x1.ae64524f3fbd6p-26, 0x1.6120646a5b122p-33, -0x1.aa8e6a9904046p-41,
};
// (cos(x) - 1 + x^2/2) / x^4 in x^2, x < pi/4: relative error 2^-32.9
constexpr float cos_tail_f32[] = {
    0x1.55554a0000000p-5f,
    -0x1.6c0bc40000000p-10f,
    0x1.99cb9a0000000p-16f,
};
// (cos(x) - 1 + x^2/2) / x^4 in x^2, x < pi/4: relative error 2^-74.7
constexpr double cos_tail_f64[] = {
    0x1.5555555555555p-5,  -0x1.6c16c16c16c0ep-10, 0x1.a01a01a018abfp-16, -0x1.27e4fb75c8d88p-22,
    0x1.1eed8c6a20169p-29, -0x1.9392f8a55a1dbp-37, 0x1.aaa9a5a953501p-45,
};
// (atan(x) - x) / x^3 in x^2, x < 1: relative error 2^-28.5
constexpr float atan_tail_f32[] = {
    -0x1.55553e0000000p-2f, 0x1.9991fe0000000p-3f,  -0x1.2421b40000000p-3f,
    0x1.c099f00000000p-4f,  -0x1.5834640000000p-4f, 0x1.dac93c0000000p-5f,
    -0x1.fed0080000000p-6f, 0x1.65a4e60000000p-7f,  -0x1.d62d500000000p-10f,
};
// (atan(x) - x) / x^3 in x^2, x < 1: relative error 2^-57.6
constexpr double atan_tail_f64[] = {
    -0x1.5555555555526p-2, 0x1.999999999554ep-3,  -0x1.249249237e3b2p-3, 0x1.c71c717f99a3bp-4,   -0x1.745d11ab482a3p-4,
    0x1.3b136679b42a7p-4,  -0x1.110e503a0cf49p-4, 0x1.e1bb9c6e39dafp-5,  -0x1.ae5e49e2d6a86p-5,  0x1.82da56d680468p-5,
    -0x1.59a2c340f892dp-5, 0x1.2c2bfe3fd220ep-5,  -0x1.e9f2ee0faf2ddp-6, 0x1.68347210770e2p-6,   -0x1.c780c198446f5p-7,
    0x1.d7a4ac76838dep-8,  -0x1.7a2543b4d07f8p-9, 0x1.b3deff1b0f93ap-11, -0x1.3f1ef0079384ep-13, 0x1.bbc9391f54240p-17,
};
// (asin(x) - x) / x^3 in x^2, x < 1/2: relative error 2^-27.6
constexpr float asin_tail_f32[] = {
    0x1.5555c80000000p-3f, 0x1.3301e40000000p-4f, 0x1.747e500000000p-5f, 0x1.8c27e60000000p-6f, 0x1.596d7c0000000p-5f,
};
// (asin(x) - x) / x^3 in x^2, x < 1/2: relative error 2^-55.9
constexpr double asin_tail_f64[] = {
    0x1.5555555555390p-3, 0x1.333333336e7a4p-4, 0x1.6db6db427e009p-5,  0x1.f1c72c37ed712p-6,
    0x1.6e89f456f3bdbp-6, 0x1.1c6be06a6b4dap-6, 0x1.c6fdd8444bc9fp-7,  0x1.8ec2722d8f7a2p-7,
    0x1.abd3c04b1490bp-8, 0x1.3ff1d5f979d54p-6, -0x1.09cef87a7fc1bp-6, 0x1.056c112c418a2p-5,
};
// Sums of parts; the products of all but the last with small integers are exact.
constexpr float half_pi_f32[] = {0x1.9200000000000p+0f, 0x1.fb40000000000p-12f, 0x1.4440000000000p-24f,
                                 0x1.68c2340000000p-39f};
constexpr double half_pi_f64[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34, 0x1.3198a2e037073p-69};
constexpr float ln2_f32[] = {0x1.62c0000000000p-1f, 0x1.217f7e0000000p-12f};
constexpr double ln2_f64[] = {0x1.62e42fefa2000p-1, 0x1.9ef35793c7673p-41};
// Numbers in twice the precision.
constexpr double ln2_twice[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr double log10_2_twice[] = {0x1.34413509f79fep-2, 0x1.e623e2566b02ep-55};
constexpr double two_log2e_twice[] = {0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55};
constexpr double two_thirds_log2e_twice[] = {0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
