"""Classes of modules, a file for each kind: texts of the script library."""
