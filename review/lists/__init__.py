"""Lists as URLs and files: filters, moments, exports."""
