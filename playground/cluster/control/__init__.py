"""What moves objects behind the API: jobs, the scheduler, the kubelet, garbage collection."""
