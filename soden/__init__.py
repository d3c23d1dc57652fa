"""SODEN: survival models through ordinary differential equation networks."""
