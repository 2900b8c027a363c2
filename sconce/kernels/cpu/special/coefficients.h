// Minimax coefficients of the special functions, lowest power first. Printed by tools/fit_special.py.
#pragma once

namespace sconce::special {

// I0(x) in x^2, over [0.0, 4.0]: 9.0e-20
inline constexpr double kI0Near[] = {
    0x1.90eacf96209cbp+0,  0x1.458fab1e6aadcp-1,  0x1.2d6c91ded7bbbp-4,  0x1.017662a61f6aap-8,  0x1.f6907b53670efp-14,
    0x1.3c6dcc15b0042p-19, 0x1.15fd645f7092bp-25, 0x1.67e5bc6df4327p-32, 0x1.6574cac34c7f0p-39, 0x1.18e020a5bc9efp-46};
// I1(x) / x in x^2, over [0.0, 4.0]: 5.0e-18
inline constexpr double kI1Near[] = {0x1.458fab1e6aadcp-1,  0x1.2d6c91ded7bbbp-3,  0x1.823193f92f1ffp-7,
                                     0x1.f6907b53679abp-12, 0x1.8b893f1b1c239p-17, 0x1.a0fc1684aca29p-23,
                                     0x1.3ae904dcaa198p-29, 0x1.6575aa72c13f2p-36, 0x1.3bfca661b091fp-43};
// K0(x) + log(x/2) I0(x) in x^2, over [0.0, 4.0]: 1.0e-18
inline constexpr double kK0Near[] = {
    -0x1.36e85d283cd69p-2, 0x1.5cab546883284p-2,  0x1.25ffa680678fdp-4,  0x1.4b2ddc22e96bap-8,  0x1.7f5efc9e66850p-13,
    0x1.1017e4b1b1c33p-18, 0x1.05b538f8f6deep-24, 0x1.6c1aa01600441p-31, 0x1.7fb0ac384a073p-38, 0x1.3cee1e6b887dcp-45};
// x (K1(x) - log(x/2) I1(x)) in x^2, over [0.0, 4.0]: 9.0e-18
inline constexpr double kK1Near[] = {0x1.c52a4ac3be112p-1,   -0x1.5436f9149884fp-2,  -0x1.f3619d57ef055p-3,
                                     -0x1.c85d2154bc9a7p-6,  -0x1.6a96e3d822f4ep-10, -0x1.46794073464edp-15,
                                     -0x1.7c2a5c42e54c2p-21, -0x1.36576f068dca9p-27, -0x1.77502ddd0e045p-34,
                                     -0x1.5dd517a0399e0p-41};
// sqrt(x) exp(x) K0(x) in 1/x, over [0.0, 0.5]: 4.0e-18
inline constexpr double kK0Far[] = {
    0x1.37f5dd35f91a9p+0,   -0x1.fd1328181db42p-6,  0x1.8d86f6465e5edp-9,  -0x1.f7130688fc4b5p-12,
    0x1.a19652e39b5bbp-14,  -0x1.9efce507df492p-16, 0x1.d5e9aa083ed64p-18, -0x1.26184ba6cdfb9p-19,
    0x1.8ec6ec3c4b708p-21,  -0x1.20bc7d7bb54dep-22, 0x1.ba2f7825a24eap-24, -0x1.6319ede5738ebp-25,
    0x1.24dfdb1060894p-26,  -0x1.f4b75e56d38b4p-28, 0x1.05b61430a4724p-28, -0x1.096311bfe068ep-29,
    0x1.a27a620088fb7p-35,  0x1.895765cf15f81p-33,  0x1.bf2aa6c8f2ba0p-31, -0x1.309f5dc83dd92p-31,
    -0x1.570a651b0e7b4p-32, 0x1.e6cf807579025p-33,  0x1.e092e5c062a6ap-34, -0x1.2feccb331b557p-34};
// sqrt(x) exp(x) K1(x) in 1/x, over [0.0, 0.5]: 4.0e-18
inline constexpr double kK1Far[] = {
    0x1.5cf785b4a0203p+0,   0x1.a7520dfb3f99fp-4,   -0x1.6cd23ac7d481fp-8,  0x1.81bb397941e8bp-11,
    -0x1.24bdedb10e7bbp-13, 0x1.1383aa0a8c7e8p-15,  -0x1.2cb02f7188581p-17, 0x1.6e6b8267772a5p-19,
    -0x1.e6c91a8165bc8p-21, 0x1.5acc64dba3b9cp-22,  -0x1.060fb9f895f71p-23, 0x1.a048f5bbd6e16p-25,
    -0x1.5476a041efb61p-26, 0x1.20f1c15a56e98p-27,  -0x1.29b04b4e21d1fp-28, 0x1.2b0963ce06f6bp-29,
    -0x1.6ea19300fd755p-34, -0x1.8b6e70b6bd232p-33, -0x1.e9c15a431d7dap-31, 0x1.4c3060ce2aab2p-31,
    0x1.746164d6387e7p-32,  -0x1.07d0727819bfdp-32, -0x1.0661525866f5ap-33, 0x1.4af1aa55c043fp-34};
// the solution of y'' = x y with y(0) = 1, y'(0) = 0 in x^3, over [-27.0, 8.0]: 7.0e-20
inline constexpr double kAiryEven[] = {
    -0x1.25fc4653df710p-3, 0x1.66e0f1ff02141p+0,  0x1.1e2d80389f9a0p+0,  0x1.3a842ad4340a8p-2,  0x1.64834ed38f101p-5,
    0x1.efb80f53dcc76p-9,  0x1.d2ecdb9174f35p-13, 0x1.3df51737d0f3cp-17, 0x1.47d73e7207259p-22, 0x1.08e5d33206d13p-27,
    0x1.58935f2fce206p-33, 0x1.70ceb660f02d8p-39, 0x1.4a29f6aecbfc9p-45};
// that with y(0) = 0, y'(0) = 1, by x, in x^3, over [-27.0, 8.0]: 2.0e-18
inline constexpr double kAiryOdd[] = {0x1.7a79fc470f5bep-2,  0x1.ca3c58a2f0065p-1,  0x1.bfaa080af2075p-2,
                                      0x1.791b0886e7c2dp-4,  0x1.632fca0e301bep-7,  0x1.ac14256dd3b06p-11,
                                      0x1.66c5e79dbb757p-15, 0x1.baa0d2d3b7fb3p-20, 0x1.a2de1f06ab5c3p-25,
                                      0x1.39bcd493fece8p-30, 0x1.7d89147779e98p-36, 0x1.7fb8178af6087p-42};
// 2 sqrt(pi) x^(1/4) exp(z) Ai(x) in 1/z, z = 2/3 x^(3/2), over [0.0, 0.6]: 6.0e-18
inline constexpr double kAiryDecay[] = {
    0x1.f6ac4fe741caep-1,  -0x1.0835734d01279p-6,  0x1.bda7af672cb2bp-10,  -0x1.3654818979875p-12,
    0x1.1b143edf081b3p-14, -0x1.33cfa78a51985p-16, 0x1.7ba515e7c6de6p-18,  -0x1.01b5a874e8fe2p-19,
    0x1.7997f5d81f64ap-21, -0x1.26625ec0b3d56p-22, 0x1.e398585ca7742p-24,  -0x1.a17c34534e7f9p-25,
    0x1.771dd799ba2a4p-26, -0x1.40a059dd05654p-27, 0x1.1ae9b30e33d30p-28,  -0x1.f4e2b5856e3b8p-29,
    0x1.42da8660dbe84p-29, 0x1.46cf2fa6ecf5dp-30,  -0x1.439c22f4d0243p-30, -0x1.d7e57d1ce7e22p-30,
    0x1.6633a9402746fp-30, 0x1.9dd1b686a1e2ep-31,  -0x1.3628728ed9972p-31, -0x1.d68e7437516e1p-33,
    0x1.42eef19471229p-33};
// P of Ai(-x) = (P cos(z - pi/4) + Q sin(z - pi/4)) / (sqrt(pi) x^(1/4)) in 1/z^2, over [0.0, 0.0835]: 5.0e-18
inline constexpr double kAiryCos[] = {
    0x1.ff3ff05c8ea8cp-1,  -0x1.6ce8f9168810fp-10, 0x1.0cf9b2f93be7dp-14,  -0x1.ec29107a9ee1dp-18,
    0x1.685e1938422ebp-20, -0x1.60bf2703472b2p-22, 0x1.a4c4657d46ee9p-24,  -0x1.21c8d9b242732p-25,
    0x1.bd8042426f1e9p-27, -0x1.729ea9be9dab5p-28, 0x1.47bb8685dc305p-29,  -0x1.69e76a6f12089p-30,
    0x1.b6bccab20bc7cp-31, 0x1.6f4bcccdb5417p-33,  -0x1.d5f7736174793p-32, -0x1.18e845974b50ap-30,
    0x1.35ec7fb53d930p-30, 0x1.451f2bf12b46cp-30,  -0x1.60f82ba3458d5p-30, -0x1.181374d593d2ep-30,
    0x1.1899a703dddf8p-30, 0x1.09995c4817f40p-31,  -0x1.f948490036fcfp-32, -0x1.e17b7e43ae1b1p-34,
    0x1.acb47715090cfp-34};
// Q z of the same, over [0.0, 0.0835]: 9.0e-18
inline constexpr double kAirySin[] = {
    0x1.1699ccc0223f6p-4,   -0x1.54155f12586e5p-10, 0x1.c1d9de62632dap-14, -0x1.1882a6a616a0ep-16,
    0x1.f618ecc860a58p-19,  -0x1.1bef4fcdf05b3p-20, 0x1.7a7b7de3cf0aep-22, -0x1.1cfc954be5149p-23,
    0x1.d7a2afd3a8774p-25,  -0x1.a564a831a54a9p-26, 0x1.91828d15041ecp-27, -0x1.805da02541474p-28,
    0x1.6b6b452c77737p-29,  -0x1.7a19618eaf044p-29, 0x1.734a8413d5f52p-29, 0x1.d20659c4f7f5cp-29,
    -0x1.7650504a33a05p-28, -0x1.592204a8d17edp-27, 0x1.d076b6cb3be3dp-27, 0x1.2eb9f7ff3cf8cp-26,
    -0x1.81d60de786530p-26, -0x1.848871fc4c1e2p-26, 0x1.d1ac2b0abc068p-26, 0x1.582384fcf3a2bp-26,
    -0x1.87b7fe38dc91dp-26, -0x1.955a55e8075a7p-27, 0x1.b7b6d55fd0972p-27, 0x1.1cf96700608a4p-28,
    -0x1.27e21bd47adcdp-28, -0x1.6fcee43acf11fp-31, 0x1.6d920f54153d9p-31};
// C_0 of Temme's expansion in powers of eta
inline constexpr double kTemme0[] = {
    -0x1.5555555555555p-2,  0x1.5555555555555p-4,   -0x1.e573ac901e574p-7,  0x1.2f684bda12f68p-10,
    0x1.71de3a556c734p-12,  -0x1.76e06fec7273bp-13, 0x1.48c5892f7cd83p-15,  -0x1.255370652afc1p-19,
    -0x1.f1b22f594c6b5p-20, 0x1.bd6d21e4b4109p-21,  -0x1.7b5f9a2d0465cp-23, 0x1.ccf5ceb7f0d9fp-28,
    0x1.6097d55c37c1cp-27,  -0x1.2d2197c7a2faap-28, 0x1.f6e66d24d5c8ap-31,  -0x1.c0d9b6edf2b0bp-36,
    -0x1.0070a87340428p-34, 0x1.ac9475c463659p-36,  -0x1.61ca701fd754ap-38, 0x1.ef98008f5eec2p-44};
// C_1 of Temme's expansion in powers of eta
inline constexpr double kTemme1[] = {
    -0x1.e573ac901e574p-10, -0x1.c71c71c71c71cp-9,  0x1.5ac056b015ac0p-9,   -0x1.0394f6f09e723p-10,
    0x1.af83440e53dbcp-13,  -0x1.af83440e53dbcp-22, -0x1.2fa4ae89e5af0p-16, 0x1.00a9cabd6b83ep-17,
    -0x1.b0bdfcc629cbap-20, 0x1.3f59230a8357cp-28,  0x1.280f2cde3f847p-23,  -0x1.ee23d0cba8aeep-25,
    0x1.9aa7a30de114cp-27,  -0x1.349fbca3a377bp-36, -0x1.1564ecff73d58p-30, 0x1.c9b434bf3c34ep-32,
    -0x1.78a5056f8ce45p-34, 0x1.113e3a466db9ep-44,  0x1.f8041c5540ea2p-38,  -0x1.9ccf2fab4608bp-39};
// C_2 of Temme's expansion in powers of eta
inline constexpr double kTemme2[] = {
    0x1.0ee643b990ee6p-8,   -0x1.5f7268edab4c8p-9,  0x1.948b0fcd6e9e0p-11,  0x1.0db20a88f4696p-19,
    -0x1.c253efaa1a932p-14, 0x1.bbf43daf4fe53p-15,  -0x1.ac2d05890f2c3p-17, 0x1.26154ae39151dp-25,
    0x1.7058929663937p-20,  -0x1.522cb05171911p-21, 0x1.32ac81c15d3d7p-23,  -0x1.c24bd0e740a6cp-33,
    -0x1.e437343a46f5dp-27, 0x1.ac0d455e25360p-28,  -0x1.77c5829460139p-30, 0x1.0962774f638bbp-40,
    0x1.1b1056c188672p-33,  -0x1.e9778dbc61371p-35, 0x1.a55da34225759p-37,  -0x1.2c681309d6007p-48};
// C_3 of Temme's expansion in powers of eta
inline constexpr double kTemme3[] = {
    0x1.547d93b34e2b6p-11,  0x1.e13ce465fa859p-13,  -0x1.ebfb188b7ca00p-12, 0x1.18b9b5bf2d984p-12,
    -0x1.3d2a3a29b5d9dp-14, -0x1.0152a1871f27ap-22, 0x1.73df462204ef4p-17,  -0x1.7cd6f27b3f020p-18,
    0x1.7e0201539310ep-20,  -0x1.ea23269c140a7p-36, -0x1.6c2dcffbefeefp-23, 0x1.5bde8ef4c4dc7p-24,
    -0x1.4853ced169327p-26, 0x1.50c3f0dd501ebp-39,  0x1.1b66a39794ba9p-29,  -0x1.040c53b2491f0p-30,
    0x1.d9b15465daec1p-33,  -0x1.f46057e1c9d1fp-47, -0x1.812d3d94d533bp-36, 0x1.587d7a7c1a668p-37};
// C_4 of Temme's expansion in powers of eta
inline constexpr double kTemme4[] = {
    -0x1.c3e0b02da7bf9p-11, 0x1.9b0ff6874f2c4p-11,  -0x1.3999a85a4237ap-12, -0x1.88f2ae1def9d0p-20,
    0x1.16908b48ce058p-14,  -0x1.4ce3fd902bcadp-15, 0x1.7db4c02846e81p-17,  0x1.13b3c5b7cb45ep-32,
    -0x1.c71c074985d3fp-20, 0x1.de37d9f09164cp-21,  -0x1.ec676cf33153cp-23, 0x1.041515bab6adap-35,
    0x1.efe94304ac16bp-26,  -0x1.e78e449f4e3bep-27, 0x1.d9a9f1a8b7696p-29,  -0x1.033ba70791e5ep-42,
    -0x1.b14f212618752p-32, 0x1.9911dbca7ce93p-33,  -0x1.7f2fac5e22aaep-35, 0x1.7088090f49aabp-50};
// C_5 of Temme's expansion in powers of eta
inline constexpr double kTemme5[] = {
    -0x1.6128ac5a4fa71p-12, -0x1.247604839c038p-14, 0x1.22be87360ef1fp-12,  -0x1.a2042c5148e27p-13,
    0x1.1d1e9cb24760bp-14,  0x1.30bdcf208080ep-23,  -0x1.c823fc1b3cc36p-17, 0x1.0d0e229150428p-17,
    -0x1.338eb19652fd9p-19, -0x1.659cfde0bb2ebp-32, 0x1.741504e5c87c2p-22,  -0x1.8c267becd0c0fp-23,
    0x1.9e630225a095bp-25,  -0x1.4411c5ac40e35p-46, -0x1.b15bbf334c8c3p-28, 0x1.b2a3adb58623dp-29,
    -0x1.af0f32d677057p-31, 0x1.762c060bd9bdap-48,  0x1.9b9c5831849dcp-34,  -0x1.8d0152b8692bap-35};
// C_6 of Temme's expansion in powers of eta
inline constexpr double kTemme6[] = {
    0x1.168ef1b0931c8p-11,  -0x1.36773bdb97b48p-11, 0x1.1c0950d3ecb9dp-12,  0x1.a8411da6cab49p-21,
    -0x1.5600945495b37p-14, 0x1.d6bdf83130dc1p-15,  -0x1.3382f4cf48618p-16, -0x1.a74243fa27729p-29,
    0x1.d115d4f5dcc68p-19,  -0x1.10587854fcb37p-19, 0x1.36c8903447d35p-21,  0x1.074e709bf4b8bp-42,
    -0x1.7b2f7de505322p-24, 0x1.9778c6d79bcc1p-25,  -0x1.af0ea334cc20ep-27, 0x1.858ba968e7d04p-44,
    0x1.cf0f99fa070bcp-30,  -0x1.d77155071f99bp-31, 0x1.daf3327a51b54p-33,  -0x1.b6df73b581619p-51};
// C_7 of Temme's expansion in powers of eta
inline constexpr double kTemme7[] = {
    0x1.691879c01efb4p-12,  0x1.b1d75d3346711p-15,  -0x1.5f3385098cebfp-12, 0x1.26eeb5ece1d9fp-12,
    -0x1.cc642787368cep-14, -0x1.119c70312e0a2p-23, 0x1.d179830b113abp-16,  -0x1.3269164e3e304p-16,
    0x1.8467d794bd7f2p-18,  0x1.0f82da50cdaeep-31,  -0x1.1c6acec59f442p-20, 0x1.4b12ad51452d5p-21,
    -0x1.7929779607d63p-23, -0x1.6d32eed259534p-40, 0x1.cf11fbdf49e99p-26,  -0x1.f4e88c5d1cae1p-27,
    0x1.0b2830e4dfce1p-28,  -0x1.65f59322ddf56p-55, -0x1.24e8da0f96246p-31, 0x1.2daf0a8add2abp-32};
// C_8 of Temme's expansion in powers of eta
inline constexpr double kTemme8[] = {
    -0x1.5629b3187b744p-11, 0x1.b8239c670e690p-11,  -0x1.cb967b4446107p-12, -0x1.762676b30cfd6p-21,
    0x1.5d1157082916dp-13,  -0x1.0c16fcea7ddb2p-13, 0x1.84637d3f583cdp-15,  0x1.3937992ec9b02p-28,
    -0x1.6384af9ac219dp-17, 0x1.c738f198ab550p-18,  -0x1.1adec9530a7adp-19, -0x1.2ed3c124b7492p-36,
    0x1.952f970ac9b03p-22,  -0x1.d599e3b2187a2p-23, 0x1.0b282393d4893p-24,  0x1.7c54ec550bd4bp-51,
    -0x1.4985ee872fc56p-27, 0x1.663fd6d84752ep-28,  -0x1.80990f0dfb26ap-30, 0x1.36412c0552a81p-51};
// C_9 of Temme's expansion in powers of eta
inline constexpr double kTemme9[] = {
    -0x1.38dff1cc96982p-11, -0x1.2e31f9b7913eap-14, 0x1.63969bb825829p-11,  -0x1.4f9f2582dd0a5p-11,
    0x1.22fb20c28e8a0p-12,  0x1.86c71c8cebf16p-23,  -0x1.63a803aebc9b7p-14, 0x1.00120036172b0p-14,
    -0x1.618fcc48d37bcp-16, -0x1.e7018e8be3330p-31, 0x1.2fe63d892e1a9p-18,  -0x1.7d8d3a891d8bap-19,
    0x1.d3850f27b27e8p-21,  0x1.03901807110d2p-38,  -0x1.49865a9b6fd04p-23, 0x1.7ca3da4d350cep-24,
    -0x1.b0abf9d310d85p-26, -0x1.706d644652279p-47, 0x1.0bcbd16605be3p-28,  -0x1.244bad2fffd4fp-29};

}  // namespace sconce::special
