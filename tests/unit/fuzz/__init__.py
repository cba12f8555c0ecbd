"""The fuzz targets without a fuzzer."""
