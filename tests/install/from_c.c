#include <stdio.h>

#include <sconce/api/sconce.h>

int main(int count, char** words) {
  sconce_module* model = NULL;
  if (count != 2 || sconce_api_version() < SCONCE_API_VERSION) return 2;
  if (sconce_load(words[1], &model) != SCONCE_OK) {
    fprintf(stderr, "%s\n", sconce_last_error());
    return 1;
  }
  printf("%s\n", sconce_method_signature(model, 0));
  sconce_module_free(model);
  return 0;
}
