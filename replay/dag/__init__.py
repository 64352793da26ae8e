"""The DAG."""
