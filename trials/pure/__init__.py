"""What trials compute: values in, values out."""
