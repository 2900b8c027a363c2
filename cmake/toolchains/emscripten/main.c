// Clang 19 calls main with arguments __main_argc_argv, as other systems of WebAssembly do; emscripten 3.1.6 looks for main.
int __main_argc_argv(int count, char** arguments);
int main_of_emscripten(int count, char** arguments) __asm__("main");

int main_of_emscripten(int count, char** arguments) { return __main_argc_argv(count, arguments); }
