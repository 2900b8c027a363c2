"""make_fx (proxy_tensor)."""
