"""What trials compute, without servers: values in, values out. Adapters call it with stored rows."""
