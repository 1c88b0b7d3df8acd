"""Files made to break what reads them: `mutations` damages, `targets` reads, `sandbox` watches."""
